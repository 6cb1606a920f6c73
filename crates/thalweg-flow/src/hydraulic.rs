//! Hydraulic geometry: typical width, depth and velocity of a natural stream of a given discharge.
//!
//! Along a river, width, depth and velocity are powers of the mean discharge whose exponents sum to 1: 0.5, 0.4 and
//! 0.1 (Leopold & Maddock 1953, doi:10.3133/pp252). The coefficients were fitted by Moody & Troutman (2002,
//! doi:10.1002/esp.403) to rivers from brooks to the Amazon: 7.2 m and 0.27 m at 1 m³/s. Individual rivers are within
//! a factor of about two: wider where banks are sandy, narrower where roots or clay stabilise them.

/// The width in metres of a stream of 1 m³/s.
pub const WIDTH: f32 = 7.2;
/// The mean depth in metres of a stream of 1 m³/s.
pub const DEPTH: f32 = 0.27;

/// Returns the width in metres of a stream of `discharge` m³/s: 7.2·Q^0.5; 0 if there is no flow. For example, a stream
/// of 25 m³/s is 36 m wide.
///
/// # Examples
/// ```
/// use thalweg_flow::hydraulic::channel_width;
///
/// // Four times the discharge, twice the width.
/// assert_eq!(channel_width(1.0), 7.2);
/// assert_eq!(channel_width(4.0), 14.4);
/// ```
pub fn channel_width(discharge: f32) -> f32 {
    // NaN counts as no flow, like negative values.
    WIDTH * discharge.max(0.0).sqrt()
}

/// Returns the mean depth in metres of a stream of `discharge` m³/s: 0.27·Q^0.4; 0 if there is no flow. For example, a
/// stream of 25 m³/s is 0.98 m deep.
///
/// # Examples
/// ```
/// use thalweg_flow::hydraulic::{channel_depth, channel_width, flow_velocity};
///
/// // Width, depth and velocity carry the discharge.
/// let discharge = 50.0;
/// let carried = channel_width(discharge) * channel_depth(discharge) * flow_velocity(discharge);
/// assert!((carried / discharge - 1.0).abs() < 1e-5);
/// ```
pub fn channel_depth(discharge: f32) -> f32 {
    if discharge > 0.0 { DEPTH * libm::powf(discharge, 0.4) } else { 0.0 }
}

/// Returns the mean velocity in m/s of a stream of `discharge` m³/s, consistent with [`channel_width`] and
/// [`channel_depth`]; 0 if there is no flow.
pub fn flow_velocity(discharge: f32) -> f32 {
    if discharge > 0.0 { libm::powf(discharge, 0.1) / (WIDTH * DEPTH) } else { 0.0 }
}

/// Returns the discharge in m³/s of a stream `width` metres wide: (width/7.2)², the inverse of [`channel_width`]; 0
/// if the width is 0.
pub fn discharge_from_width(width: f32) -> f32 {
    let root = width.max(0.0) / WIDTH;
    root * root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_depth_and_velocity_carry_the_discharge() {
        let mut last = [0.0; 3];
        for q in [1e-6, 0.02, 1.0, 35.0, 2e5] {
            let all = [channel_width(q), channel_depth(q), flow_velocity(q)];
            // The product of three powers, each accurate to a few units in the last place of f32.
            assert!((all[0] * all[1] * all[2] / q - 1.0).abs() < 2e-6, "{q}: {all:?}");
            assert!((0..3).all(|k| all[k] > last[k]));
            assert!((discharge_from_width(all[0]) / q - 1.0).abs() < 1e-6);
            last = all;
        }
        assert_eq!([channel_width(1.0), channel_depth(1.0)], [WIDTH, DEPTH]);
        // A river of the Rhine's size at Basel: 1000 m³/s; in nature about 200 m wide, 3 m deep, and 1 m/s or faster.
        assert!((channel_width(1000.0) - 228.0).abs() < 1.0 && (3.0..5.0).contains(&channel_depth(1000.0)));
    }

    #[test]
    fn nothing_flows_where_there_is_no_number() {
        for q in [0.0, -3.0, f32::NAN] {
            assert_eq!([channel_width(q), channel_depth(q), flow_velocity(q)], [0.0; 3]);
        }
    }
}
