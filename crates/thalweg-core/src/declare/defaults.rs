//! [`with_defaults!`]: a struct whose fields state their default values.

/// Declares a struct and its `Default`: each field is followed by `=` and its default value.
///
/// ```
/// thalweg_core::with_defaults! {
///     /// The light on a map.
///     #[derive(Debug, PartialEq)]
///     pub struct Light {
///         /// Degrees from north.
///         pub azimuth: f64 = 315.0,
///         /// Degrees above the horizon.
///         pub altitude: f64 = 45.0,
///     }
/// }
/// assert_eq!(Light::default(), Light { azimuth: 315.0, altitude: 45.0 });
/// ```
#[macro_export]
macro_rules! with_defaults {
    (
        $(#[$about:meta])*
        $access:vis struct $type:ident $(<$life:lifetime>)? {
            $( $(#[$meaning:meta])* $open:vis $field:ident: $kind:ty = $default:expr, )+
        }
    ) => {
        $(#[$about])*
        $access struct $type $(<$life>)? { $( $(#[$meaning])* $open $field: $kind, )+ }

        impl $(<$life>)? Default for $type $(<$life>)? {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }
    };
}
