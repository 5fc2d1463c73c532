//! Gives the shared library its soname: programs that are linked with it find any later version
//! that keeps their calls as they are.

fn main() {
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libterrace_region.so.{major}");
    println!("cargo:rerun-if-changed=build.rs");
}
