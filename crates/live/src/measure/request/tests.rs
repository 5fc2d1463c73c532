use super::*;

fn request(compare: bool, prefetch: &[&str]) -> Request {
    let spec = |name: &&str| prefetch::Spec::parse(name).expect("it is there");
    Request {
        command: vec!["true".into()].into(),
        dram: Dram::Share(0.5),
        footprint: None,
        tier: tier::Choice::default(),
        zswap: None,
        prefetch: prefetch.iter().map(spec).collect(),
        eviction: vec![eviction::Spec::default()],
        migration: None,
        placement: None,
        lesson: None,
        writes: false,
        measure: None,
        measures: Measures::default(),
        compare,
        repeat: 1,
    }
}

fn placement() -> Placement {
    Placement {
        path: "p".into(),
        program: "true".into(),
        bytes: Bytes(0),
        sites: Vec::new(),
    }
}

fn names(request: &Request) -> Vec<&'static str> {
    ways(request).iter().map(Way::name).collect()
}

#[test]
fn which_ways_a_request_runs() {
    assert_eq!(names(&request(false, &["stream"])), ["terrace"]);
    assert_eq!(names(&request(false, &[])), ["kernel"]);
    assert_eq!(
        names(&request(true, &["stream"])),
        ["all-dram", "kernel", "kernel-cpf", "terrace"]
    );
    assert_eq!(
        names(&request(true, &[])),
        ["all-dram", "kernel", "kernel-cpf"]
    );
    let placed = |compare, prefetch: &[&str]| {
        names(&Request {
            placement: Some(placement()),
            ..request(compare, prefetch)
        })
    };
    assert_eq!(placed(false, &[]), ["placed"]);
    assert_eq!(placed(false, &["stream"]), ["terrace"]);
    assert_eq!(
        placed(true, &["stream"]),
        ["all-dram", "kernel", "kernel-cpf", "placed", "terrace"]
    );
    assert_eq!(
        names(&request(true, &["stream", "spatial"])),
        ["all-dram", "kernel", "kernel-cpf", "terrace", "terrace"]
    );
}

#[test]
fn on_a_node_pages_move_and_nothing_is_swapped() {
    let mut request = request(true, &["auto"]);
    request.tier.spec = Some(Spec::Node(1));
    assert_eq!(
        names(&request),
        ["all-dram", "kernel-tiering", "terrace", "terrace"]
    );
    assert_eq!(request.check_node(), Ok(()));
    request.placement = Some(placement());
    assert_eq!(
        names(&request),
        ["all-dram", "kernel-tiering", "terrace", "placed", "terrace"]
    );
    request.migration = Some((&migration::never::ENTRY).into());
    assert_eq!(
        names(&request),
        ["all-dram", "kernel-tiering", "terrace", "placed"]
    );
    request.compare = false;
    assert_eq!(names(&request), ["placed"]);
    (request.placement, request.migration) = (None, None);
    assert_eq!(names(&request), ["terrace"]);
    request.prefetch = vec![prefetch::Spec::parse("stream").unwrap()];
    let said = request.check_node().unwrap_err().to_string();
    assert!(said.starts_with("‘prefetch’ is of swap"), "{said}");
    request.tier.spec = None;
    assert_eq!(request.check_node(), Ok(()));
    request.migration = Some((&migration::hot::ENTRY).into());
    let said = request.check_node().unwrap_err().to_string();
    assert!(said.contains("as node:1"), "{said}");
}
