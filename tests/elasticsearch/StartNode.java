import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginBundle;
import org.elasticsearch.plugins.PluginsLoader;

/**
 * Starts one Elasticsearch node: {@code java -cp CLASS_PATH StartNode HOME}.
 *
 * <p>Settings come from {@code HOME/config/elasticsearch.yml}, modules from {@code HOME/modules}.
 * SIGTERM closes the node in order. The end of its standard input ends it at once, so it never
 * outlives the process that started it.
 */
final class StartNode {

    private StartNode() {}

    /** Elasticsearch 8 has these methods without the flag. */
    @SuppressWarnings("unchecked")
    private static Set<PluginBundle> bundles(String method, Path folder) throws Exception {
        try {
            return (Set<PluginBundle>) PluginsLoader.class
                    .getMethod(method, Path.class, boolean.class).invoke(null, folder, false);
        } catch (NoSuchMethodException older) {
            return (Set<PluginBundle>) PluginsLoader.class.getMethod(method, Path.class).invoke(null, folder);
        }
    }

    /** Nothing is ever written to the standard input: it ends with the process that holds it. */
    private static void endWithParent() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(1);
    }

    private static void stop(Node node) {
        try {
            node.close();
        } catch (IOException error) {
            error.printStackTrace();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread parent = Thread.ofPlatform().daemon().start(StartNode::endWithParent);

        Path home = Path.of(arguments[0]).toAbsolutePath();
        LogConfigurator.registerErrorListener();
        LogConfigurator.configureESLogging();
        Settings settings = Settings.builder().put("path.home", home.toString()).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
                settings, Map.of(), home.resolve("config"), () -> "node");
        LogConfigurator.configure(environment, true);

        PluginsLoader plugins = PluginsLoader.createPluginsLoader(
                bundles("loadModulesBundles", home.resolve("modules")),
                bundles("loadPluginsBundles", home.resolve("plugins")), Map.of(), false);
        Node node = new Node(environment, plugins);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(node)));
        node.start();
        parent.join();
    }
}
