//! The names that container engines give to the cgroups of their containers.

/// Characters in the ID of a container.
const ID: usize = 64;

/// Whether the group `name` is that of a container whose ID begins with `id`.
///
/// Docker and containerd with the driver `cgroupfs` name it by the ID alone; with `systemd`, it is
/// a scope: `docker-ID.scope`, `libpod-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`. The
/// process that watches over a container (conmon) is in one of its own, whose name ends with the ID
/// as well.
pub fn is_of(name: &str, id: &str) -> bool {
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let (engine, own) = name.rsplit_once('-').unwrap_or(("", name));
    let is_id = own.len() == ID && own.bytes().all(|c| c.is_ascii_hexdigit());
    is_id && !id.is_empty() && own.starts_with(id) && !engine.ends_with("conmon")
}

/// Asks the engines that may know a container by a name for its ID. `ask` runs a program with
/// options and returns what it prints.
pub fn id_of(name: &str, ask: impl Fn(&str, &[&str]) -> Option<String>) -> Option<String> {
    let options = [
        "inspect",
        "--type=container",
        "--format={{.Id}}",
        "--",
        name,
    ];
    let engines = ["docker", "podman"];
    engines.iter().find_map(|engine| ask(engine, &options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_engines_name_them() {
        let id = "4969a18ddced".repeat(6)[..ID].to_owned();
        for name in [
            id.clone(),
            format!("docker-{id}.scope"),
            format!("libpod-{id}.scope"),
            format!("cri-containerd-{id}.scope"),
            format!("crio-{id}.scope"),
        ] {
            assert!(is_of(&name, &id), "{name}");
            assert!(is_of(&name, "4969a"), "{name}");
            assert!(!is_of(&name, "969a"), "{name}: not its beginning");
            assert!(!is_of(&name, ""), "{name}");
        }
        assert!(!is_of(&format!("libpod-conmon-{id}.scope"), &id));
        assert!(!is_of(&format!("crio-conmon-{id}.scope"), &id));
        for other in ["session-4.scope", "4969a.service", "system.slice", "4969a"] {
            assert!(!is_of(other, "4"), "{other}");
        }
    }
}
