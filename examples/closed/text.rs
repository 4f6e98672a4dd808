//! What the programs for texts share: the inputs, and the artifact.

use std::fs;

/// An input: a task, a text, and for some tasks a context.
pub struct Input {
    pub id: String,
    pub task: String,
    pub context: String,
    #[allow(dead_code, reason = "not every program looks at it")]
    pub text: String,
}

/// An answer: a label, or where in the context, in characters, what words stand.
pub enum Answer {
    Label(&'static str),
    Span(usize, String),
}

/// The lines of `/data/inputs.jsonl`.
pub fn inputs() -> Vec<Input> {
    let lines = fs::read_to_string("/data/inputs.jsonl").expect("the inputs");
    let of_line = |line: &str| Input {
        id: member(line, "id"),
        task: member(line, "task"),
        context: member(line, "context"),
        text: member(line, "text"),
    };
    lines.lines().map(of_line).collect()
}

/// Writes the artifact.
pub fn write(answers: &[(&Input, Answer)]) {
    let of_one = |(input, answer): &(&Input, Answer)| match answer {
        Answer::Label(label) => format!("\"{}\": {{\"label\": \"{label}\"}}", input.id),
        Answer::Span(start, text) => format!("\"{}\": {{\"start\": {start}, \"text\": {}}}", input.id, quoted(text)),
    };
    let answers: Vec<String> = answers.iter().map(of_one).collect();
    println!("{{\"answers\": {{{}}}}}", answers.join(", "));
}

/// The string that a line, a flat object, has under a name; empty where it has none.
fn member(line: &str, name: &str) -> String {
    let mut rest = line;
    // a name is a string before a colon, and strings are read one after another, so that none is found inside another
    while let Some((key, after)) = string(rest) {
        let after = after.trim_start();
        let Some(value) = after.strip_prefix(':') else {
            rest = after;
            continue;
        };
        let Some((value, after)) = string(value) else { break };
        if key == name {
            return value;
        }
        rest = after;
    }
    String::new()
}

/// The next string of a text of JSON, and what follows it.
fn string(text: &str) -> Option<(String, &str)> {
    let text = &text[text.find('"')? + 1..];
    let (mut value, mut units) = (String::new(), Vec::new());
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        let unit = match c {
            '\\' => match chars.next()?.1 {
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    units.push(u16::from_str_radix(&digits, 16).ok()?);
                    continue;
                }
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            },
            other => other,
        };
        // two escapes may be one character
        value.extend(char::decode_utf16(units.drain(..)).map(|c| c.unwrap_or('\u{fffd}')));
        if c == '"' {
            return Some((value, &text[at + 1..]));
        }
        value.push(unit);
    }
    None
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => quoted += &format!("\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The words of a text in small letters, each with the number of characters before it.
pub fn words(text: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut is_inside = false;
    for (at, c) in text.chars().enumerate() {
        if c.is_alphanumeric() {
            if !is_inside {
                words.push((at, String::new()));
            }
            if let Some((_, word)) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        is_inside = c.is_alphanumeric();
    }
    words
}
