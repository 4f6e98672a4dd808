//! A stand-in for the services that make images over the Internet, `POST /v1/images/generations`. It draws the prompt.
//!
//! Whoever runs a cloud on one machine serves its [`router`](ImageService::router) there, in place of the services that an organizer of Adversarial
//! Nibbler names. Tests tell it how to behave; otherwise it answers with all images.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use font8x8::UnicodeFonts as _;
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

/// The key that callers have to send.
pub const IMAGES_KEY: &str = "local-images-key";
const SIDE: usize = 256;
const GLYPH: usize = 8;
const SCALE: usize = 2;
const MARGIN: usize = 8;

/// How the service behaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// It answers with all images.
    #[default]
    Normal,
    /// It answers 503.
    Down,
    /// It answers with all images, after this time.
    Slow(Duration),
    /// It asks to come again later, with 429.
    Busy,
    /// It answers with half of the images, rounded down.
    Half,
    /// It answers 200 with something that is no JSON.
    Garbage,
    /// It answers 200 with base 64 of something that is no image.
    NoImages,
    /// All its images are black, like those of services that withhold images.
    Black,
    /// It refuses the prompt by its policy.
    Refuses,
    /// It refuses the prompt as an invalid one, as some services say it.
    InvalidPrompt,
    /// It forbids the prompt, with 403.
    Forbids,
    /// It answers with addresses of its images.
    Addresses,
    /// It knows no `response_format`, and refuses requests that have one.
    Strict,
}

#[derive(Debug, Default)]
struct Inner {
    behaviour: Mutex<Vec<Behaviour>>,
    n_requests: Mutex<u64>,
    /// The images that were drawn to be fetched.
    drawn: Mutex<Vec<Vec<u8>>>,
}

/// The service, and its configured behaviour. Clones share one service.
#[derive(Debug, Clone, Default)]
pub struct ImageService {
    inner: Arc<Inner>,
}

#[derive(Deserialize)]
struct DrawRequest {
    prompt: String,
    #[serde(default = "one")]
    n: usize,
    #[serde(default)]
    model: String,
    #[serde(default)]
    response_format: Option<String>,
}

fn one() -> usize {
    1
}

impl ImageService {
    /// Sets how it behaves from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *locked(&self.inner.behaviour) = vec![behaviour];
    }

    /// Behaves as each of `behaviours` for one request, in order, and then like the last.
    pub fn behave_in_turn(&self, behaviours: &[Behaviour]) {
        let mut behaviours = behaviours.to_vec();
        behaviours.reverse();
        *locked(&self.inner.behaviour) = behaviours;
    }

    /// How many requests with the right key it has had.
    pub fn n_requests(&self) -> u64 {
        *locked(&self.inner.n_requests)
    }

    /// The routes that answer requests.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v1/images/generations", post(generate))
            .route("/drawn/{number}", get(drawn))
            .with_state(self.clone())
    }

    fn next_behaviour(&self) -> Behaviour {
        let mut behaviours = locked(&self.inner.behaviour);
        match behaviours.len() {
            0 => Behaviour::Normal,
            1 => behaviours[0],
            _ => behaviours.pop().unwrap_or_default(),
        }
    }
}

async fn generate(State(service): State<ImageService>, headers: HeaderMap, body: Bytes) -> Response {
    let shown = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    if shown != Some(&format!("Bearer {IMAGES_KEY}")) {
        return refusal(StatusCode::UNAUTHORIZED, "invalid_api_key", "the key is wrong");
    }
    *locked(&service.inner.n_requests) += 1;
    let behaviour = service.next_behaviour();
    let Ok(request) = serde_json::from_slice::<DrawRequest>(&body) else {
        return refusal(
            StatusCode::BAD_REQUEST,
            "invalid_request",
            "a prompt is needed, as JSON",
        );
    };
    let n = match behaviour {
        Behaviour::Down => return refusal(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "out of service"),
        Behaviour::Busy => {
            let refusal = refusal(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limit_exceeded",
                "come again later",
            );
            return ([(header::RETRY_AFTER, "0")], refusal).into_response();
        }
        Behaviour::Garbage => return "<html>all is well</html>".into_response(),
        Behaviour::Refuses => {
            let message = "the prompt is refused by the policy";
            return refusal(StatusCode::BAD_REQUEST, "content_policy_violation", message);
        }
        Behaviour::InvalidPrompt => {
            return refusal(StatusCode::BAD_REQUEST, "invalid_prompt", "try another prompt");
        }
        Behaviour::Forbids => {
            let message = "the prompt is forbidden by the policy";
            return refusal(StatusCode::FORBIDDEN, "content_policy_violation", message);
        }
        Behaviour::Strict if request.response_format.is_some() => {
            let message = "there is no `response_format`";
            return refusal(StatusCode::BAD_REQUEST, "unknown_parameter", message);
        }
        Behaviour::Slow(delay) => {
            tokio::time::sleep(delay).await;
            request.n
        }
        Behaviour::Half => request.n / 2,
        Behaviour::Normal
        | Behaviour::NoImages
        | Behaviour::Black
        | Behaviour::Addresses
        | Behaviour::Strict => request.n,
    };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let images: Vec<Value> = (0..n)
        .map(|idx| match behaviour {
            Behaviour::NoImages => b"this is no image".to_vec(),
            Behaviour::Black => encode(&vec![0; SIDE * SIDE * 3]),
            _ => encode(&draw(&request.prompt, &request.model, idx)),
        })
        .map(|png| {
            if behaviour != Behaviour::Addresses {
                return json!({ "b64_json": STANDARD.encode(png) });
            }
            let mut kept = locked(&service.inner.drawn);
            kept.push(png);
            json!({ "url": format!("http://{host}/drawn/{}", kept.len() - 1) })
        })
        .collect();
    axum::Json(json!({ "created": seconds_now(), "data": images })).into_response()
}

/// An image that was drawn to be fetched. Nobody needs a key.
async fn drawn(
    State(service): State<ImageService>,
    Path(number): Path<usize>,
    headers: HeaderMap,
) -> Response {
    if headers.contains_key(header::AUTHORIZATION) {
        return refusal(
            StatusCode::BAD_REQUEST,
            "not_yours",
            "the key is for the service only",
        );
    }
    let png = locked(&service.inner.drawn).get(number).cloned();
    png.map_or_else(
        || StatusCode::NOT_FOUND.into_response(),
        |png| ([(header::CONTENT_TYPE, "image/png")], png).into_response(),
    )
}

/// Unix time in seconds.
fn seconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// The content of the mutex. A panic while it is locked leaves it intact, because it is replaced as
/// a unit.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let error = json!({ "error": { "code": code, "message": message, "type": "error" } });
    (status, axum::Json(error)).into_response()
}

/// Draws the prompt and the image's number in dark letters on a light ground, in RGB. The ground's colour follows from the model and the number; the
/// model is not named, because participants see the picture and must not learn who made it.
fn draw(prompt: &str, model: &str, idx: usize) -> Vec<u8> {
    let style: usize = model.bytes().map(usize::from).sum();
    let tint = |channel: usize| 255 - ((style * 17 + idx * 53 + channel * 31) % 90) as u8;
    let ground = [tint(0), tint(1), tint(2)];
    let mut pixels: Vec<u8> = ground.repeat(SIDE * SIDE);
    let per_line = (SIDE - 2 * MARGIN) / (GLYPH * SCALE);
    let letters: Vec<char> = prompt.chars().collect();
    let lines = letters.chunks(per_line).map(<[char]>::to_vec);
    let most = (SIDE - 2 * MARGIN) / (GLYPH * SCALE) - 1;
    for (row, line) in lines
        .take(most)
        .chain([(idx + 1).to_string().chars().collect()])
        .enumerate()
    {
        for (col, letter) in line.into_iter().enumerate() {
            let (x, y) = (MARGIN + col * GLYPH * SCALE, MARGIN + row * GLYPH * SCALE);
            letter_at(&mut pixels, letter, x, y);
        }
    }
    pixels
}

fn letter_at(pixels: &mut [u8], letter: char, x: usize, y: usize) {
    let glyph = font8x8::BASIC_FONTS
        .get(letter)
        .or_else(|| font8x8::LATIN_FONTS.get(letter))
        .or_else(|| font8x8::BASIC_FONTS.get('?'))
        .unwrap_or_default();
    for (dy, bits) in glyph.iter().enumerate() {
        for dx in (0..GLYPH).filter(|dx| bits >> dx & 1 == 1) {
            for (sy, sx) in (0..SCALE * SCALE).map(|n| (n / SCALE, n % SCALE)) {
                let at = ((y + dy * SCALE + sy) * SIDE + x + dx * SCALE + sx) * 3;
                pixels[at..at + 3].copy_from_slice(&[20, 20, 40]);
            }
        }
    }
}

/// Encodes the RGB pixels of a square as PNG.
fn encode(pixels: &[u8]) -> Vec<u8> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, SIDE as u32, SIDE as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(pixels));
    if let Err(error) = written {
        tracing::error!(%error, "an image can't be written"); // writing into memory does not fail
    }
    png
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_drawing_shows_its_prompt_and_is_unique() {
        let one = draw("horse lying in ketchup", "m", 0);
        assert!(
            one.chunks(3).any(|pixel| pixel == [20, 20, 40]),
            "there are letters"
        );
        let light = one.iter().filter(|&&channel| channel > 100).count();
        assert!(light > one.len() / 2, "on a light ground");
        let others = [
            ("horse lying in ketchup", "m", 1),
            ("horse lying in ketchup", "n", 0),
            ("horse", "m", 0),
        ];
        for (prompt, model, idx) in others {
            assert_ne!(one, draw(prompt, model, idx));
        }
        assert!(
            draw(&"x".repeat(10_000), "m", 0).len() == one.len(),
            "a long one is cut"
        );
    }

    #[test]
    fn moods_take_turns_and_the_last_stays() {
        let service = ImageService::default();
        service.behave_in_turn(&[Behaviour::Down, Behaviour::Busy, Behaviour::Normal]);
        let behaviours: Vec<Behaviour> = (0..4).map(|_| service.next_behaviour()).collect();
        assert_eq!(
            behaviours,
            [
                Behaviour::Down,
                Behaviour::Busy,
                Behaviour::Normal,
                Behaviour::Normal
            ]
        );
    }
}
