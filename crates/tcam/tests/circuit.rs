use terrace_tcam::circuit::*;
#[test]
fn show() {
    let t = Technology::default();
    let f = Flash::fitted(&t);
    println!("{f:?} {:?}", t.nmos_kohm(0.18));
    for b in [Block::default(), Block::cmos()] {
        let g = b.figures(&f, &t);
        println!(
            "{g:#?} tcam {} total {} pj {} mW@1GHz {} range {:?}",
            g.tcam_ps(),
            g.delay_ps(),
            g.pj(),
            g.pj(),
            b.delay_range_ps(0.02, &f, &t)
        );
        let n = Netlist::of(&b, &f, &t, None);
        println!("{:?}", Spice::run(&n));
        for a in Axis::ALL {
            println!("{a:?}");
            for p in sweep(&b, a, &f, &t) {
                println!(
                    "  {} {:.1} {:.1} {:.1} {:.3} {:.1}",
                    p.value,
                    p.figures.tcam_ps(),
                    p.figures.port_ps,
                    p.figures.delay_ps(),
                    p.figures.droop_v,
                    p.figures.pj()
                );
            }
        }
    }
}
