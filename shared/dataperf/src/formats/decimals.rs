//! Numbers for people: one rounding for the terminal, the page and pictures.

/// A number with so many digits after the decimal point. Half a unit is rounded away from zero, as `toFixed` of JavaScript does; the standard
/// library rounds it to the even digit.
///
/// ```
/// assert_eq!([0.125, -0.125, 0.375, 0.1].map(|number| dataperf::decimals(number, 2)), ["0.13", "-0.13", "0.38", "0.10"]);
/// assert_eq!(dataperf::decimals(2.5, 0), "3");
/// // 1.005 is a little less than what it is written as
/// assert_eq!(dataperf::decimals(1.005, 2), "1.00");
/// ```
pub fn decimals(number: f64, digits: u8) -> String {
    let (number, digits) = (number + 0.0, usize::from(digits)); // no `-0`
    // half a unit has one digit more, and nothing behind it
    let exact = format!("{:.*}", digits + 40, number.abs());
    let behind = exact.split_once('.').map_or("", |(_, behind)| &behind[digits..]);
    let is_half = behind
        .strip_prefix('5')
        .is_some_and(|rest| rest.bytes().all(|digit| digit == b'0'));
    let rounded = if is_half {
        number.abs().next_up()
    } else {
        number.abs()
    };
    let sign = if number < 0.0 { "-" } else { "" };
    format!("{sign}{rounded:.digits$}")
}
