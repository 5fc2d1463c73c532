//! Values of settings, read from the texts of the command line.

use terrace_base::count::whole;
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Energy, Figure, Order};
use terrace_policy::control;
use terrace_policy::eviction;
use terrace_policy::migration;
use terrace_policy::registry::split_list;
use terrace_policy::replacement;
use terrace_policy::write;

use super::dram::Dram;
use super::levelling;
use super::names::parse_prefetch;
use super::placement::Placement;
use super::setting::Set;
use super::settings::{PageMachine, Prefetch};
use super::tier::{Middle, Tier};

/// Reads replacement policies.
pub(super) fn policies_of(text: &str) -> Result<Vec<Set>> {
    let specs = replacement::Spec::parse_list(text)
        .map_err(Error::usage)?
        .into_iter();
    let sets = specs.map(|spec| Set::plain(move |m| m.replacement = spec.clone()));
    Ok(sets.collect())
}

/// Reads migration policies.
pub(super) fn migrations(text: &str) -> Result<Vec<Set>> {
    let specs = migration::Spec::parse_list(text).map_err(Error::usage)?;
    let sets = specs
        .into_iter()
        .map(|spec| Set::plain(move |m| m.migration = spec.clone()));
    Ok(sets.collect())
}

/// Reads eviction policies.
pub(super) fn evictions(text: &str) -> Result<Vec<Set>> {
    let specs = eviction::Spec::parse_list(text).map_err(Error::usage)?;
    let sets = specs
        .into_iter()
        .map(|spec| Set::plain(move |m| m.eviction = spec.clone()));
    Ok(sets.collect())
}

/// Reads control policies, or none.
pub(super) fn controls(text: &str) -> Result<Vec<Set>> {
    let control = |name: &String| {
        let control = match &**name {
            "none" => None,
            name => Some(control::Spec::parse(name).map_err(Error::usage)?),
        };
        Ok(Set::plain(move |m| m.control = control.clone()))
    };
    split_list(text).iter().map(control).collect()
}

/// Reads a number of bytes a day, or none.
pub(super) fn control_writes(text: &str) -> Result<Set> {
    let bytes = match text {
        "none" => None,
        size => Some(Bytes::parse(size)?.0),
    };
    Ok(Set::plain(move |m| m.control_writes = bytes))
}

/// Reads write schemes, all of one machine.
pub(super) fn schemes(text: &str) -> Result<Vec<Set>> {
    let schemes = write::Spec::parse_list(text).map_err(Error::usage)?;
    let set = move |m: &mut PageMachine| m.writing.schemes.clone_from(&schemes);
    Ok(vec![Set::plain(set)])
}

/// Reads wear levellings, all of one machine.
pub(super) fn levellings(text: &str) -> Result<Vec<Set>> {
    let levellings = levelling::Spec::parse_list(text).map_err(Error::usage)?;
    let set = move |m: &mut PageMachine| m.writing.levellings.clone_from(&levellings);
    Ok(vec![Set::plain(set)])
}

/// Reads ways of prefetching.
pub(super) fn ways(text: &str) -> Result<Vec<Set>> {
    let way = |name: &String| {
        let way = parse_prefetch(name, 0)?;
        Ok(Set::plain(move |m| m.prefetch = way.clone()))
    };
    split_list(text).iter().map(way).collect()
}

/// Reads `vm.page-cluster`, for machines that read ahead as the kernel does.
pub(super) fn page_cluster(text: &str) -> Result<Set> {
    let number = whole(0..=10_u32)(text)?;
    Ok(Set::plain(move |m| {
        if let Prefetch::Readahead { cluster, .. } = &mut m.prefetch {
            *cluster = number;
        }
    }))
}

/// Reads a number of threads. That a program has none is an error of its own.
pub(super) fn threads(text: &str) -> Result<Set> {
    let threads = whole(0..=u32::MAX)(text)?;
    Ok(Set::new(move |choice, _| {
        if threads == 0 {
            let none = "a program has at least one thread; ‘threads’ 0 is none";
            return Err(Error::usage(none));
        }
        choice.machine.threads = Some(threads);
        Ok(())
    }))
}

/// Reads the name of an order.
pub(super) fn order(text: &str) -> Result<Set> {
    let known = Order::named().into_iter().find(|(name, _)| *name == text);
    let (_, order) = known.ok_or_else(|| {
        let names = Order::named().map(|(name, _)| name).join(", ");
        Error::usage(format!("there is no order `{text}`; there are: {names}"))
    })?;
    Ok(Set::plain(move |m| m.tier.timing.order = order))
}

/// Reads an amount of DRAM.
pub(super) fn dram(text: &str) -> Result<Set> {
    let dram = Dram::parse(text)?;
    Ok(Set::new(move |choice, _| {
        choice.dram = dram;
        Ok(())
    }))
}

/// Reads the name of a memory.
pub(super) fn memory(name: &str) -> Result<Set> {
    let name = name.to_owned();
    Ok(Set::new(move |choice, catalogue| {
        choice.machine.tier = match &*name {
            Tier::UNTIMED => Tier::untimed(),
            name => technology(catalogue, name)?,
        };
        Ok(())
    }))
}

/// Reads the name and the size of a memory between DRAM and the tier.
pub(super) fn middle(text: &str) -> Result<Set> {
    if text == "none" {
        return Ok(Set::plain(|m: &mut PageMachine| m.middle = None));
    }
    let (name, size) = text.split_once(':').ok_or_else(|| {
        Error::usage(format!(
            "`{text}` is no memory with its size; write it as pcm:25%, dram:64M or none"
        ))
    })?;
    let (name, size) = (name.to_owned(), Dram::parse(size)?);
    Ok(Set::new(move |choice, catalogue| {
        let tier = technology(catalogue, &name)?;
        choice.middle = Some(size);
        choice.machine.middle = Some(Middle {
            name: tier.name,
            timing: tier.timing,
            pages: 0,
        });
        Ok(())
    }))
}

/// Reads the path of a placement.
pub(super) fn place(path: &str) -> Result<Set> {
    let placement = Placement::load(path.as_ref())?;
    Ok(Set::plain(move |machine: &mut PageMachine| {
        machine.place = Some(placement.clone())
    }))
}

/// Returns the tier of a technology.
fn technology(catalogue: &Catalogue, name: &str) -> Result<Tier> {
    let technology = catalogue.get_for(name, |technology| technology.timing().is_ok())?;
    let picos = |figure: &Option<Figure<Nanos>>| Some(figure.as_ref()?.value.0 * 1000);
    Ok(Tier {
        name: technology.name.clone(),
        timing: technology.timing()?,
        devices: 1,
        energy: Energy::of(technology, terrace_device::Unit::Page),
        line_energy: Energy::of(technology, terrace_device::Unit::Line),
        endurance: technology.endurance.as_ref().map(|figure| figure.value),
        rated: None,
        pages: None,
        line_ps: picos(&technology.line_read),
        line_write_ps: picos(&technology.line_write),
        untimed: false,
    })
}
