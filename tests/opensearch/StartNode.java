import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.opensearch.Version;
import org.opensearch.analysis.common.CommonAnalysisModulePlugin;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.IndexService;
import org.opensearch.index.mapper.MapperExtrasModulePlugin;
import org.opensearch.index.reindex.ReindexModulePlugin;
import org.opensearch.index.shard.IndexSettingProvider;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.painless.PainlessModulePlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.plugins.PluginInfo;
import org.opensearch.transport.Netty4ModulePlugin;

/**
 * Starts one OpenSearch node with the k-NN plugin: {@code java -cp CLASS_PATH StartNode HOME}.
 *
 * <p>Settings come from {@code HOME/config/opensearch.yml}. SIGTERM closes the node in order. The
 * end of its standard input ends it at once, so it never outlives the process that started it.
 * {@code -Dsync=1s} is how often copies of shards tell each other what they have, 30 s by default.
 */
final class StartNode extends Node {

    private static final List<PluginInfo> PLUGINS = Stream.concat(Stream.of(
            plugin("transport-netty4", Netty4ModulePlugin.class),
            plugin("analysis-common", CommonAnalysisModulePlugin.class),
            plugin("lang-painless", PainlessModulePlugin.class),
            plugin("mapper-extras", MapperExtrasModulePlugin.class),
            plugin("reindex", ReindexModulePlugin.class),
            plugin("syncing", Syncing.class),
            plugin("opensearch-knn", KNNPlugin.class, "lang-painless")), neuralSearch()).toList();

    /** Sets what a node has as settings of an index, but does not let anybody set. */
    public static final class Syncing extends Plugin {
        private static final List<Setting<?>> INTERVALS = List.of(
                IndexService.RETENTION_LEASE_SYNC_INTERVAL_SETTING,
                IndexService.GLOBAL_CHECKPOINT_SYNC_INTERVAL_SETTING);

        @Override
        public List<Setting<?>> getSettings() {
            return INTERVALS;
        }

        @Override
        public Collection<IndexSettingProvider> getAdditionalIndexSettingProviders() {
            String interval = System.getProperty("sync", "30s");
            Settings.Builder chosen = Settings.builder();
            INTERVALS.forEach(setting -> chosen.put(setting.getKey(), interval));
            Settings settings = chosen.build();
            return List.of(new IndexSettingProvider() {
                @Override
                public Settings getAdditionalIndexSettings(String index, boolean stream, Settings given) {
                    return settings;
                }
            });
        }
    }

    private StartNode(Environment environment) {
        super(environment, PLUGINS, true);
    }

    private static PluginInfo plugin(String name, Class<? extends Plugin> type, String... extended) {
        String version = Version.CURRENT.toString();
        String java = Integer.toString(Runtime.version().feature());
        return new PluginInfo(
                name, name, version, Version.CURRENT, java, type.getName(), null, List.of(extended), false);
    }

    /** The neural-search plugin, where its jars are on the class path. */
    private static Stream<PluginInfo> neuralSearch() {
        try {
            Class<?> type = Class.forName("org.opensearch.neuralsearch.plugin.NeuralSearch");
            return Stream.of(
                    plugin("opensearch-neural-search", type.asSubclass(Plugin.class), "opensearch-knn"));
        } catch (ClassNotFoundException absent) {
            return Stream.empty();
        }
    }

    private void stop() {
        try {
            close();
            awaitClose(30, TimeUnit.SECONDS);
        } catch (Exception error) {
            error.printStackTrace();
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

    public static void main(String[] arguments) throws Exception {
        Thread parent = Thread.ofPlatform().daemon().start(StartNode::endWithParent);

        Path home = Path.of(arguments[0]).toAbsolutePath();
        Settings settings = Settings.builder().put("path.home", home.toString()).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
                settings, Map.of(), home.resolve("config"), () -> "node");
        LogConfigurator.configure(environment);

        StartNode node = new StartNode(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(node::stop));
        node.start();
        // All threads of a node are daemons.
        parent.join();
    }
}
