//! Tests of cameras through their projections.

use glam::{Vec3, vec3};
use thalweg_core::{Grid, Height, Terrain};

use crate::view::camera::{DISTANCE_RANGE_M, FRAMED_FRACTION, ViewCamera};
use crate::view::space::BoundingBox;
use crate::view::surface::{Surface, SurfaceOptions};

const BOUNDS: BoundingBox = BoundingBox { low: vec3(-500.0, -300.0, -40.0), high: vec3(500.0, 300.0, 120.0) };

fn cameras() -> Vec<ViewCamera> {
    let stand = |azimuth, elevation| ViewCamera {
        target: vec3(30.0, -20.0, 55.0),
        distance: 900.0,
        azimuth,
        elevation,
        ..ViewCamera::default()
    };
    let mut all: Vec<_> = [(205.0, 34.0), (0.0, 90.0), (90.0, 3.0), (310.0, -20.0)].map(|(a, e)| stand(a, e)).into();
    all.push(ViewCamera { map: true, ..stand(205.0, 34.0) });
    all
}

fn is_finite(camera: &ViewCamera) -> bool {
    let ViewCamera { target, distance, azimuth, elevation, fov, .. } = *camera;
    [distance, azimuth, elevation, fov].iter().all(|x| x.is_finite())
        && target.is_finite()
        && camera.eye().is_finite()
        && camera.clip_matrix(1.5).is_finite()
}

#[test]
fn rays_pass_through_the_points_that_are_seen_there() {
    for camera in cameras() {
        for aspect in [0.4, 1.0, 2.2] {
            for at in [[0.0, 0.0], [0.7, -0.4], [-0.95, 0.9]] {
                let ray = camera.ray_through(at, aspect);
                assert!((ray.direction.length_squared() - 1.0).abs() < 1e-5);
                for metres in [50.0, 700.0, 3000.0] {
                    let seen = camera.project(ray.point_at(metres), aspect).unwrap();
                    // Coordinates of thousands of metres in f32, in a picture about 500 m wide.
                    assert!((0..2).all(|k| (seen[k] - at[k]).abs() < 1e-3), "{camera:?} {seen:?} {at:?}");
                }
            }
        }
    }
    let camera = ViewCamera::default();
    let behind = 2.0 * camera.eye();
    assert_eq!(camera.project(behind, 1.0), None);
}

#[test]
fn the_matrix_and_projection_agree() {
    for camera in cameras() {
        let (m, eye, point) = (camera.clip_matrix(1.6), camera.eye(), vec3(70.0, 10.0, 80.0));
        let clip = m * (point - eye).extend(1.0);
        let seen = camera.project(point, 1.6).unwrap();
        assert!((clip.x / clip.w - seen[0]).abs() < 1e-4 && (clip.y / clip.w - seen[1]).abs() < 1e-4);
        assert!((0.0..=1.0).contains(&(clip.z / clip.w)));
    }
}

#[test]
fn zooming_keeps_the_point_under_the_cursor() {
    for camera in cameras() {
        let point = vec3(120.0, 40.0, 60.0);
        let before = camera.project(point, 1.5).unwrap();
        for factor in [0.2, 0.9, 1.1, 7.0] {
            let mut camera = camera;
            camera.zoom(factor, Some(point));
            let after = camera.project(point, 1.5).unwrap();
            assert!((0..2).all(|k| (after[k] - before[k]).abs() < 1e-3), "{camera:?} {before:?} {after:?}");
        }
    }
    // At the limit of the distance, zooming does not move the camera.
    let mut camera = ViewCamera { distance: DISTANCE_RANGE_M[0], ..ViewCamera::default() };
    let target = camera.target;
    camera.zoom(10.0, Some(vec3(500.0, 0.0, 0.0)));
    assert_eq!(camera.target, target);
}

#[test]
fn a_framed_box_is_wholly_seen_and_fills_the_picture() {
    for aspect in [0.3, 1.0, 2.5] {
        let turned = [ViewCamera::default(), ViewCamera { azimuth: 90.0, elevation: 10.0, ..ViewCamera::default() }];
        let maps = [ViewCamera { map: true, ..ViewCamera::default() }];
        for camera in turned.into_iter().chain(maps).map(|camera| camera.with_framing(&BOUNDS, aspect)) {
            let seen = BOUNDS.corners().map(|corner| camera.project(corner, aspect).unwrap());
            let most = |k: usize| seen.iter().map(|s| s[k].abs()).fold(0.0, f32::max);
            let most = most(0).max(most(1));
            assert!((FRAMED_FRACTION - 0.05..=FRAMED_FRACTION + 0.01).contains(&most), "{camera:?} {most}");
        }
    }
}

#[test]
fn panning_moves_the_ground_with_the_cursor() {
    // From straight above, a drag of half the picture's height moves the ground by as much.
    for map in [true, false] {
        let mut camera = ViewCamera { azimuth: 180.0, elevation: 90.0, distance: 500.0, map, ..ViewCamera::default() };
        let metres = 500.0 * camera.tan_half_fov();
        camera.pan([0.0, 300.0], [800.0, 600.0]);
        let seen = camera.project(Vec3::ZERO, 1.0).unwrap();
        assert!(seen[0].abs() < 1e-4 && (seen[1] + 1.0).abs() < 1e-3, "{seen:?} {metres}");
        camera.pan([-300.0, 0.0], [800.0, 600.0]);
        assert!(camera.target[0] > 0.9 * metres && camera.target[1] > 0.9 * metres);
    }
}

#[test]
fn turning_leaves_the_eye_and_orbiting_the_target() {
    let mut camera = ViewCamera::new_perspective(&BOUNDS, 1.0);
    let eye = camera.eye();
    camera.look_around([200.0, -90.0]);
    assert!((camera.eye() - eye).abs().max_element() < 0.01);
    let target = camera.target;
    camera.orbit([40.0, 5000.0]);
    assert_eq!((camera.target, camera.elevation), (target, 90.0));
    camera.orbit([0.0, -9000.0]);
    assert_eq!(camera.elevation, 2.0);
}

#[test]
fn the_eye_stays_above_ground_and_water() {
    let mut terrain = Terrain::new(Grid::new([60, 60], 10.0).unwrap());
    for i in 0..60 {
        for j in 0..60 {
            let (y, x) = (i as f64 - 30.0, j as f64 - 30.0);
            terrain.ground[(i, j)] = Height::from_metres_clamped(400.0 - y.hypot(x) * 20.0);
        }
    }
    terrain.grid.sea_level = Some(Height::from_metres_clamped(50.0));
    let surface =
        Surface::from_terrain(&terrain, &SurfaceOptions { exaggeration: 2.0, ..SurfaceOptions::default() }).unwrap();
    for azimuth in 0..12 {
        for (target, distance) in
            [(Vec3::ZERO, 100.0), (vec3(0.0, 0.0, -900.0), 50.0), (vec3(250.0, 0.0, 100.0), 240.0)]
        {
            let stand = ViewCamera {
                target,
                distance,
                azimuth: 30.0 * azimuth as f32,
                elevation: 2.0,
                ..ViewCamera::default()
            };
            for lift in [ViewCamera::keep_above::<Surface>, ViewCamera::lift_above::<Surface>] {
                let mut camera = stand;
                lift(&mut camera, &surface, 2.0);
                let eye = camera.eye();
                let top = surface.top_at([eye[0], eye[1]]).map_or(f32::MIN, |top| 2.0 * top);
                assert!(eye.z > top && is_finite(&camera), "{camera:?}");
            }
        }
    }
}

#[test]
fn nothing_extreme_breaks_a_camera() {
    let extremes = [0.0, -1.0, 1e30, -1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
    for x in extremes {
        for y in extremes {
            let bounds = BoundingBox { low: vec3(x, y, -1.0), high: vec3(y, x, 1.0) };
            for mut camera in
                cameras().into_iter().chain([ViewCamera::new_perspective(&bounds, x), ViewCamera::new_map(&bounds, y)])
            {
                camera.orbit([x, y]);
                camera.pan([x, y], [y, x]);
                camera.zoom(x, Some(vec3(y, x, 0.0)));
                camera.zoom(y, None);
                camera.fly(vec3(x, y, x));
                camera.look_around([y, x]);
                assert!(is_finite(&camera), "{x} {y} {camera:?}");
                let ray = camera.ray_through([x, y], y);
                assert!(ray.origin.is_finite() && ray.direction.is_finite(), "{x} {y} {ray:?}");
                if let Some(seen) = camera.project(vec3(x, y, 0.0), x) {
                    assert!(seen.iter().all(|c| c.is_finite()));
                }
            }
        }
    }
}
