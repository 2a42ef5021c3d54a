import java.io.Reader;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.pattern.PatternReplaceCharFilter;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.settings.Setting;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.index.IndexService;
import org.elasticsearch.index.IndexSettingProvider;
import org.elasticsearch.index.analysis.CharFilterFactory;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;

/**
 * Parts of the distribution that Maven Central does not have: some text analysis, and {@code GET /}.
 * {@code -Dsync=1s} is how often copies of shards tell each other what they have, 30 s by default.
 */
public final class Missing extends Plugin implements AnalysisPlugin, ActionPlugin {

    private static final List<Setting<?>> INTERVALS = List.of(
            IndexService.RETENTION_LEASE_SYNC_INTERVAL_SETTING,
            IndexService.GLOBAL_CHECKPOINT_SYNC_INTERVAL_SETTING);

    private record Replacing(String name, Pattern pattern) implements CharFilterFactory {
        @Override
        public Reader create(Reader reader) {
            return new PatternReplaceCharFilter(pattern, "", reader);
        }
    }

    private record Stemming(String name, String language) implements TokenFilterFactory {
        @Override
        public TokenStream create(TokenStream tokens) {
            boolean possessive = language.equals("possessive_english");
            return possessive ? new EnglishPossessiveFilter(tokens) : new PorterStemFilter(tokens);
        }
    }

    private static final class Greeting extends BaseRestHandler {
        @Override
        public String getName() {
            return "greeting";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            String version = Build.current().version();
            String body = "{\"cluster_name\": \"slice-os-tests\", \"version\": {\"number\": \"" + version
                    + "\"}, \"tagline\": \"You Know, for Search\"}";
            return channel -> channel.sendResponse(new RestResponse(RestStatus.OK, "application/json", body));
        }
    }

    @Override
    public List<Setting<?>> getSettings() {
        return INTERVALS;
    }

    /** The one method has other parameters in Elasticsearch 8, and returns the settings there. */
    @Override
    public Collection<IndexSettingProvider> getAdditionalIndexSettingProviders(
            IndexSettingProvider.Parameters parameters) {
        Settings.Builder chosen = Settings.builder();
        INTERVALS.forEach(setting -> chosen.put(setting.getKey(), System.getProperty("sync", "30s")));
        Settings settings = chosen.build();
        Class<?>[] types = {IndexSettingProvider.class};
        Object provider = Proxy.newProxyInstance(Missing.class.getClassLoader(), types, (self, method, given) -> {
            if (method.getName().equals("provideAdditionalSettings")) {
                ((Settings.Builder) given[given.length - 1]).put(settings);
            }
            Class<?> answer = method.getReturnType();
            return answer == Settings.class ? settings : answer == boolean.class ? false
                    : answer == int.class ? (Object) 0 : null;
        });
        return List.of((IndexSettingProvider) provider);
    }

    @Override
    public Map<String, AnalysisProvider<CharFilterFactory>> getCharFilters() {
        return Map.of("pattern_replace", (index, environment, name, settings) ->
                new Replacing(name, Pattern.compile(settings.get("pattern", ""))));
    }

    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of("stemmer", (index, environment, name, settings) ->
                new Stemming(name, settings.get("language", "english")));
    }

    @Override
    public Collection<RestHandler> getRestHandlers(
            RestHandlersServices services, Supplier<DiscoveryNodes> nodes, Predicate<NodeFeature> features) {
        return List.of(new Greeting());
    }
}
