//! Cases that the rules for modules see, and that they let pass.

use super::Modules;

fn read(files: &[(&'static str, &str)]) -> Modules {
    Modules::read(files.iter().map(|(file, text)| (*file, (*text).to_owned())))
}

#[test]
fn rings_of_folders_are_seen() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod one; mod two;"),
        ("a/one.rs", "fn f() { crate::b::three::f() }"),
        ("a/two.rs", "pub fn f() {}"),
        ("b.rs", "mod three; mod four;"),
        ("b/three.rs", "pub fn f() {}"),
        ("b/four.rs", "fn f() { fn g() { use crate::a::two; } }"),
    ];
    assert_eq!(read(&files).rings(), ["the crate itself: a::one uses b::three, b::four uses a::two"]);
    assert!(read(&files[..6]).rings().is_empty());
}

#[test]
fn reexports_belong_to_their_owner() {
    let facade = ("lib.rs", "mod a; mod b; pub use a::A;");
    let own = ("lib.rs", "mod a; mod b; use a::A; pub struct C;");
    let (a, b) = (("a.rs", "pub struct A;"), ("b.rs", "use crate::A;"));
    assert!(read(&[facade, a, b]).rings().is_empty());
    let child = ("a.rs", "use super::C; pub struct A;");
    assert_eq!(
        read(&[own, child, b]).rings(),
        ["the crate itself: the crate itself uses a, a uses the crate itself"]
    );
}

#[test]
fn tests_may_use_what_they_like() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod c; #[cfg(test)] pub(crate) mod d;"),
        ("a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("b.rs", "pub struct B(crate::a::A);"),
        ("c.rs", "use crate::b; impl b::B {}"),
        ("d.rs", "use crate::B; fn f() {}"),
    ];
    assert!(read(&files).rings().is_empty());
}

#[test]
fn a_module_within_a_file_is_the_file() {
    let files = |b| [("lib.rs", "mod a;"), ("a.rs", "mod b; use b::B; struct A;"), ("a/b.rs", b)];
    let own = "pub struct B; mod one { use super::*; mod two { use super::super::B; } }";
    assert!(read(&files(own)).rings().is_empty());
    let ring = ["a: a uses a::b, a::b uses a"];
    assert_eq!(read(&files("pub struct B; mod one { use super::super::A; }")).rings(), ring);
    assert!(read(&files("pub struct B; pub(in crate::a) fn f() {}")).rings().is_empty());
}

#[test]
fn folders_are_reached_through_their_door_alone() {
    let files = [
        ("lib.rs", "mod door; mod rooms; mod other; use door::D;"),
        ("door.rs", "mod more; use crate::rooms::a; pub struct D(a::A);"),
        ("door/more.rs", "use crate::rooms::b::B;"),
        ("rooms/mod.rs", "mod a; mod b;"),
        ("rooms/a.rs", "mod inner; pub struct A; use inner::I;"),
        ("rooms/a/inner.rs", "use super::A; pub struct I;"),
        ("rooms/b.rs", "pub struct B(super::a::A);"),
        ("other.rs", "use crate::rooms::b::B;"),
    ];
    assert_eq!(read(&files).reach_into("rooms", "door"), ["other names rooms::b", "rooms::b names rooms::a"]);
}

#[test]
fn methods_live_with_their_type() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod more; pub struct A;"),
        ("a/more.rs", "use super::A; impl A {}"),
        ("b.rs", "mod one;"),
        ("b/one.rs", "use crate::a::A; impl A {} impl Clone for A {}"),
    ];
    assert_eq!(read(&files).strays(), ["b::one has methods of a::A"]);
}
