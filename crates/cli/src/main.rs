//! quick
use terrace_live::run::*;
fn main(){
  let a: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
  let way = match a[0].to_str().unwrap() {"k"=>Way::Kernel,"c"=>Way::KernelCpf,_=>Way::Terrace(&terrace_policy::prefetch::REGISTRY[0])};
  let l = terrace_live::Bytes::parse(a[1].to_str().unwrap()).unwrap();
  let mut s = Session::open().unwrap();
  s.prepare_tier(None, Some(terrace_live::Bytes(2<<30))).unwrap();
  let o = s.run(&a[2..], way, Some(l), &mut |_|{}).unwrap();
  println!("{o:#?}");
}
