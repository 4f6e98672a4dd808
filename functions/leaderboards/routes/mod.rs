//! The routes, and the document that describes them.

mod benchmarks;
mod board;
mod contexts;
mod keys;
mod kit;
mod rounds;
mod submission;
mod submitters;
mod uploads;
mod validation;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::response::Response;
use axum::routing::get;
use dataperf::board::OPEN_ROUND;
use serde_json::Value;
use tower_http::cors::{Any, CorsLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::OpenApi;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Content, ObjectBuilder, OpenApi as Document, Ref, RefOr, Required, ResponseBuilder, Type,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::answer::Wishes;
use crate::app::App;
use crate::caller::Caller;
use dataperf_http::Problem;

/// The path at which the API is mounted, by itself and behind a distribution.
const MOUNTED_AT: &str = "/api/v1";
/// The path at which another function signs forms for uploads.
const UPLOADS: &str = "/api/v1/uploads";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "DataPerf read API",
        description = "Benchmarks, leaderboards, submissions and what of them can be drawn. Everything with a score is public; \
                       a receipt, an artifact, and whatever has no score are their submitter's and the organizer's, who send a token. \
                       Lists come in pages: follow `next` until it is null. Every answer has an entity tag."
    ),
    paths(uploads::upload),
    components(schemas(Problem))
)]
struct Api;

/// Completes the document: the token, and of each route the parts of its path, the problem, and who may ask. Everybody may ask where the route names
/// nobody.
fn complete(document: &mut Document) {
    let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme("token", scheme);
    let problem = ResponseBuilder::new().description("A problem").content(
        "application/problem+json",
        Content::new(Some(Ref::from_schema_name("Problem"))),
    );
    let problem = RefOr::T(problem.build());
    let token = SecurityRequirement::new("token", [""; 0]);
    let routes = document.paths.paths.values_mut();
    for route in routes.flat_map(|item| [&mut item.get, &mut item.post]).flatten() {
        if let Some(parameters) = &mut route.parameters {
            parameters.sort_by_key(|parameter| !is_in_path(parameter));
            for parameter in parameters {
                if is_in_path(parameter)
                    && let RefOr::T(parameter) = parameter
                    && parameter.description.is_none()
                    && let Some(part) = in_path(&parameter.name)
                {
                    *parameter = part;
                }
            }
        }
        let responses = &mut route.responses.responses;
        responses.insert("default".to_owned(), problem.clone());
        let security = || vec![SecurityRequirement::default(), token.clone()];
        route.security.get_or_insert_with(security);
    }
}

fn is_in_path(parameter: &RefOr<Parameter>) -> bool {
    matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Path)
}

/// A part of many paths: the benchmark, the leaderboard or the submission.
fn in_path(name: &str) -> Option<Parameter> {
    let (description, pattern, example) = match name {
        "benchmark" => ("The benchmark's id", None, Some("speech-selection")),
        "leaderboard" => ("The leaderboard's name", None, Some("en-25")),
        "submission" => ("The submission's id", Some("^[0-9a-f]{32}$"), None),
        _ => return None,
    };
    let schema = ObjectBuilder::new().schema_type(Type::String).pattern(pattern);
    let part = ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
        .example(example.map(Value::from));
    Some(part.build())
}

/// The whole API.
pub(crate) fn router(app: App) -> Router {
    let (api, mut document) = OpenApiRouter::with_openapi(Api::openapi())
        .nest(
            MOUNTED_AT,
            OpenApiRouter::new()
                .routes(routes!(benchmarks::list))
                .routes(routes!(benchmarks::one))
                .routes(routes!(board::board))
                .routes(routes!(board::picture::picture))
                .routes(routes!(kit::kit))
                .routes(routes!(board::series::series))
                .routes(routes!(submission::scored_files::scored_files))
                .routes(routes!(board::retirement::retirement))
                .routes(routes!(board::document::document))
                .routes(routes!(submitters::history::history))
                .routes(routes!(submission::one))
                .routes(routes!(submission::figures))
                .routes(routes!(board::difference::difference))
                .routes(routes!(submission::files::receipt))
                .routes(routes!(submission::files::artifact))
                .routes(routes!(submission::files::image))
                .routes(routes!(submitters::quotas::quotas))
                .routes(routes!(submitters::submitters))
                .routes(routes!(submission::unfinished::unfinished))
                .routes(routes!(submitters::token::token))
                .routes(routes!(submission::unfinished::failed))
                .routes(routes!(contexts::contexts))
                .routes(routes!(validation::next))
                .routes(routes!(validation::image))
                .routes(routes!(keys::keys)),
        )
        .split_for_parts();
    complete(&mut document);
    let document = serde_json::to_value(document).unwrap_or_default();
    let described = move |wishes: Wishes| std::future::ready(openapi(&wishes, &document));
    let fixed = |name: HeaderName, value: &'static str| {
        SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
    };
    // Tokens come in a header, never in a cookie, so that other sites' pages may read what their users may.
    let cors = CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD])
        .allow_headers([header::AUTHORIZATION, header::ACCEPT, header::IF_NONE_MATCH])
        .expose_headers([header::ETAG])
        .max_age(std::time::Duration::from_hours(1));
    api.route(&format!("{MOUNTED_AT}/openapi.json"), get(described.clone()))
        .route("/openapi.json", get(described))
        .fallback(nothing)
        .method_not_allowed_fallback(async || Problem::method("this API only reads: use GET"))
        .layer(cors)
        .layer(fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(fixed(
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ))
        .layer(fixed(header::REFERRER_POLICY, "no-referrer"))
        .layer(fixed(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"))
        .with_state(app)
}

fn openapi(wishes: &Wishes, document: &Value) -> Response {
    wishes.json(&Caller::Anonymous, document)
}

async fn nothing(State(_): State<App>) -> Problem {
    let detail = format!("`{MOUNTED_AT}/openapi.json` lists what there is");
    Problem::not_found("unknown_route", "path", detail)
}

/// The round asked for.
fn round(value: Option<&str>) -> Result<&str, Problem> {
    let round = value.unwrap_or(OPEN_ROUND);
    name("round", round)
}

/// Checks that keys may have a name: there is nothing under any other name, and nothing is looked up.
fn name<'a>(noun: &str, name: &'a str) -> Result<&'a str, Problem> {
    let fits = (1..=128).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c == '#');
    if fits {
        return Ok(name);
    }
    let detail = format!("a {noun}'s name has 1 to 128 bytes, no control character and no `#`");
    Err(Problem::not_found("unusable_name", noun, detail))
}
