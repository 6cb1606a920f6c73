//! Hydraulic geometry: how wide, deep and quick a natural stream of some discharge is.
//!
//! Along a river, width, depth and velocity are powers of the mean discharge whose exponents sum to 1: 0.5, 0.4 and 0.1
//! (Leopold & Maddock 1953, doi:10.3133/pp252). The coefficients are those that Moody & Troutman (2002,
//! doi:10.1002/esp.403) fitted to rivers from brooks to the Amazon: 7.2 m and 0.27 m at 1 m³/s. Single rivers lie within a
//! factor of about two: wider where banks are sandy, narrower where roots or clay hold them.

/// Width in metres of a stream of 1 m³/s.
pub const WIDTH: f32 = 7.2;
/// Mean depth in metres of a stream of 1 m³/s.
pub const DEPTH: f32 = 0.27;

/// Width in metres of a stream of `discharge` m³/s: 7.2·Q^0.5; 0 where nothing flows.
pub fn channel_width(discharge: f32) -> f32 {
    // NaN, like what is below 0, is no flow.
    WIDTH * discharge.max(0.0).sqrt()
}

/// Mean depth in metres of a stream of `discharge` m³/s: 0.27·Q^0.4; 0 where nothing flows.
pub fn channel_depth(discharge: f32) -> f32 {
    if discharge > 0.0 { DEPTH * libm::powf(discharge, 0.4) } else { 0.0 }
}

/// Mean velocity in m/s of a stream of `discharge` m³/s: what carries it through [`channel_width`] and [`channel_depth`]; 0 where nothing
/// flows.
pub fn flow_velocity(discharge: f32) -> f32 {
    if discharge > 0.0 { libm::powf(discharge, 0.1) / (WIDTH * DEPTH) } else { 0.0 }
}

/// Discharge in m³/s of a stream `width` metres wide: (width/7.2)², the inverse of [`channel_width`]; 0 where there is no width.
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
            // Three powers and their product, each to a few units of f32's last place.
            assert!((all[0] * all[1] * all[2] / q - 1.0).abs() < 2e-6, "{q}: {all:?}");
            assert!((0..3).all(|k| all[k] > last[k]));
            assert!((discharge_from_width(all[0]) / q - 1.0).abs() < 1e-6);
            last = all;
        }
        assert_eq!([channel_width(1.0), channel_depth(1.0)], [WIDTH, DEPTH]);
        // A river of the Rhine's size at Basel: 1000 m³/s, in nature some 200 m wide, 3 m deep, 1 m/s and more.
        assert!((channel_width(1000.0) - 228.0).abs() < 1.0 && (3.0..5.0).contains(&channel_depth(1000.0)));
    }

    #[test]
    fn nothing_flows_where_there_is_no_number() {
        for q in [0.0, -3.0, f32::NAN] {
            assert_eq!([channel_width(q), channel_depth(q), flow_velocity(q)], [0.0; 3]);
        }
    }
}
