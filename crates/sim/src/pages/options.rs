//! The settings of machines: options of `sim pages` and `sweep`, and their fields in results.
//!
//! To add one: a field in [`PageMachine`], an entry here, and its use in the simulation.

use std::sync::Arc;

use terrace_base::count::whole;
use terrace_base::schema::{Field, Unit, Unsigned};
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Deadlines, Energy, Order};
use terrace_policy::registry::split_list;
use terrace_policy::replacement;

use super::cost::{FaultCost, Shootdown};
use super::dram::Dram;
use super::names::{Picos, parse_latency, parse_prefetch};
use super::setting::{Set, Setting, Values};
use super::settings::{Inclusion, PageMachine, Prefetch, Tier, Work};

/// The order in which settings vary, the slowest first: a value that replaces that of a memory or of
/// a fault cost comes behind these. Settings that are not named follow.
pub(super) const VARY: &str = "memory dram replacement prefetch page-cluster prefetch-cache \
     prefetch-work inclusion eviction-buffer devices order fault-cost instruction-time access-time \
     warmup seed read-latency write-latency channels tier-size shootdown threads";

/// The order of settings in results, that of the schema `terrace.sim.pages/1`. Settings that are not
/// named follow.
const RESULTS: &str = "dram prefetch-cache memory read-latency write-latency channels devices order \
     tier-size replacement prefetch page-cluster prefetch-work inclusion eviction-buffer fault-cost \
     shootdown threads instruction-time access-time warmup seed";

/// Names of `--prefetch-work`.
const WORK: [(&str, Work); 2] = [
    ("asynchronous", Work::Asynchronous),
    ("synchronous", Work::Synchronous),
];

/// Names of `--inclusion`.
const INCLUSION: [(&str, Inclusion); 2] = [
    ("inclusive", Inclusion::Inclusive),
    ("exclusive", Inclusion::Exclusive),
];

/// Names of `--shootdown`.
const SHOOTDOWN: [(&str, Shootdown); 3] = [
    ("interrupt", Shootdown::Interrupt),
    ("hardware", Shootdown::Hardware),
    ("free", Shootdown::Free),
];

/// Returns the fields of results that show the settings of a machine, in the order of JSON.
pub fn effective() -> Vec<Field<PageMachine>> {
    let mut settings = settings();
    let place = |name| RESULTS.split(' ').position(|known| known == name);
    settings.sort_by_key(|setting| place(setting.name).unwrap_or(usize::MAX));
    settings
        .into_iter()
        .flat_map(|setting| setting.fields)
        .collect()
}

/// Returns all settings, in the order of help and of tables.
pub fn settings() -> Vec<Setting> {
    [policies(), costs(), tier(), driving()]
        .into_iter()
        .flatten()
        .collect()
}

/// Settings of DRAM, and of what moves pages into and out of it.
fn policies() -> Vec<Setting> {
    vec![
        Setting::parsed("dram", "SIZE", |text| {
            let dram = Dram::parse(text)?;
            Ok(Set::new(move |choice, _| {
                choice.dram = dram;
                Ok(())
            }))
        })
        .help("DRAM: 64M, 1000p (pages), or 25% of the tier")
        .details("A share is the DRAM:NVM ratio, where the tier has the size of the footprint.")
        .hyphens()
        .required()
        .common()
        .field(Field::new("dram_pages", Unit::None, "pages of DRAM", |m: &PageMachine| {
            m.dram_pages
        })),
        Setting::parsed("memory", "NAME", |name| {
            let name = name.to_owned();
            Ok(Set::new(move |choice, catalogue| {
                choice.machine.tier = technology(catalogue, &name)?;
                Ok(())
            }))
        })
        .help("the memory behind DRAM")
        .details(
            "A technology of `terrace list memories`; `terrace explain pcm` shows its figures.",
        )
        .default("pcm")
        .common()
        .column("memory", "memory", Unit::None, |m| m.tier.name.clone()),
        Setting::new("replacement", "NAME", Values::List(Arc::new(policies_of)))
        .help("what stays in DRAM")
        .details(
            "Policies are listed by `terrace list policies`. Settings follow a name, as in \
             cflru:window=0.3; `terrace explain cflru` lists them.",
        )
        .default("lru")
        .common()
        .column("replacement", "replacement", Unit::None, |m| m.replacement.to_string()),
        Setting::new("prefetch", "NAME", Values::List(Arc::new(ways)))
            .help("what is fetched ahead")
            .details(
                "`off` is nothing, `readahead` the kernel's block around each fault; predictors are \
                 listed by `terrace list predictors`. Settings follow a name, as in \
                 stream:depth=64,queue=fifo; `terrace explain stream` lists them.",
            )
            .default("off")
            .common()
            .column("prefetch", "prefetch", Unit::None, |m| m.prefetch.to_string()),
        Setting::parsed("page-cluster", "N", page_cluster)
            .single()
            .help("pages that `readahead` reads at once, as a power of two (vm.page-cluster)")
            .default("3")
            .field(Field::new(
                "page_cluster",
                Unit::None,
                "vm.page-cluster of readahead",
                |m: &PageMachine| match m.prefetch {
                    Prefetch::Readahead { cluster } => Some(cluster),
                    Prefetch::Off | Prefetch::Predictor(_) => None,
                },
            )),
        Setting::number("prefetch-cache", "PAGES", 0..=u32::MAX.into(), |m, pages| {
            m.prefetch_cache = pages as usize;
        })
        .help("pages of DRAM kept for fetched pages until they are used; 0: fetched pages go where all pages are")
        .default("0")
        .column("prefetch cache", "prefetch_cache", Unit::None, |m| m.prefetch_cache)
        .with(|field| field.behind("page_cluster")),
        Setting::names("prefetch-work", "PREFETCH_WORK", &WORK, |m, work| m.work = work)
            .help("who waits for prefetches: nobody, or the fault that caused them")
            .default("asynchronous")
            .column("work", "prefetch_work", Unit::None, |m| name(&WORK, m.work))
            .with(|field| field.json("work")),
        Setting::names("inclusion", "INCLUSION", &INCLUSION, |m, inclusion| {
            m.inclusion = inclusion;
        })
        .help("whether a fetched page keeps its copy in the tier, so that it need not be written if it stays clean")
        .default("inclusive")
        .column("inclusion", "inclusion", Unit::None, |m| name(&INCLUSION, m.inclusion)),
        Setting::number("eviction-buffer", "PAGES", 0..=65536, |m, pages| {
            m.eviction_buffer = pages as usize;
        })
        .help("evicted pages that wait in DRAM to be written in the background; 0: faults wait")
        .default("64")
        .column("buffer", "eviction_buffer", Unit::None, |m| m.eviction_buffer),
    ]
}

/// Settings of what a fault costs.
fn costs() -> Vec<Setting> {
    vec![
        fault_cost(),
        Setting::names("shootdown", "SHOOTDOWN", &SHOOTDOWN, |m, way| {
            m.fault.shootdown = way;
        })
        .help("how other processors are told of an evicted page")
        .otherwise("that of the fault cost")
        .shown("shoot-down", "shootdown"),
        Setting::parsed("threads", "N", threads)
            .help("threads that a shoot-down reaches")
            .otherwise("those of the program")
            .column("threads", "threads", Unit::None, |m| m.threads),
    ]
}

/// What a fault costs, with a field for each part.
fn fault_cost() -> Setting {
    let part = |column, path, help, get: fn(&FaultCost) -> Nanos| {
        Field::new(column, Unit::Nanos, help, move |m: &PageMachine| {
            get(&m.fault)
        })
        .json(path)
    };
    let setting = Setting::quantity("fault-cost", "NAME", FaultCost::parse, |m, cost| {
        m.fault = cost;
    })
    .help("what a fault costs beyond the device")
    .details(
        "Listed by `terrace list fault-costs`; a number is the cycles at 1.9 GHz of a whole fault \
         (Oskin & Loh 2015, figure 2).",
    )
    .default("linux")
    .column("fault cost", "fault_cost", Unit::None, |m| {
        m.fault.name.clone()
    })
    .with(|field| field.json("fault.name"));
    let parts = [
        part(
            "fault_trap_ns",
            "fault.trap",
            "into the kernel and back",
            |f| f.trap,
        ),
        part(
            "fault_kernel_ns",
            "fault.kernel",
            "the kernel's way to the device and back",
            |f| f.kernel,
        ),
        part(
            "fault_copy_ns",
            "fault.copy",
            "moving or clearing a page",
            |f| f.copy,
        ),
        part("fault_map_ns", "fault.map", "mapping a page", |f| f.map),
        part(
            "fault_unmap_ns",
            "fault.unmap",
            "unmapping an evicted page",
            |f| f.unmap,
        ),
        part(
            "fault_write_out_ns",
            "fault.write_out",
            "handing an evicted page to the device for the first time",
            |f| f.write_out,
        ),
        part(
            "fault_write_again_ns",
            "fault.write_again",
            "handing an evicted page to the device that the tier had before",
            |f| f.write_again,
        ),
        Field::new(
            "shootdown",
            Unit::None,
            "how other processors are told of an evicted page",
            |m: &PageMachine| name(&SHOOTDOWN, m.fault.shootdown),
        )
        .json("fault.shootdown"),
        Field::new(
            "shootdown_on_map",
            Unit::None,
            "whether they are told of a mapped page as well",
            |m: &PageMachine| m.fault.shootdown_on_map,
        )
        .json("fault.shootdown_on_map"),
        part(
            "fault_prefetch_ns",
            "fault.prefetch",
            "added while a predictor runs beside the program",
            |f| f.prefetch,
        )
        .behind("fault_write_again_ns"),
    ];
    setting.fields(parts)
}

/// Settings of the tier.
fn tier() -> Vec<Setting> {
    vec![
        Setting::quantity("read-latency", "TIME", parse_latency, |m, time| {
            m.tier.timing.read = time;
        })
        .help("latency of a page read")
        .details("Written as 25us.")
        .otherwise("that of the memory")
        .column("read latency", "read_ns", Unit::Nanos, |m| {
            m.tier.timing.read
        }),
        Setting::quantity("write-latency", "TIME", parse_latency, |m, time| {
            m.tier.timing.write = time;
        })
        .help("latency of a page write")
        .otherwise("that of the memory")
        .column("write latency", "write_ns", Unit::Nanos, |m| {
            m.tier.timing.write
        }),
        Setting::number("channels", "N", 1..=65536, |m, channels| {
            m.tier.timing.channels = channels as u32;
        })
        .help("requests that a device serves at the same time")
        .otherwise("those of the memory")
        .column("channels", "channels", Unit::None, |m| {
            m.tier.timing.channels
        }),
        Setting::number("devices", "N", 1..=1024, |m, devices| {
            m.tier.devices = devices as u32;
        })
        .help(
            "devices of that kind, each with a queue of its own; evicted pages go to them in turn",
        )
        .default("1")
        .column("devices", "devices", Unit::None, |m| m.tier.devices.max(1))
        .field(Field::new(
            "bandwidth",
            Unit::None,
            "bytes a second over all channels; null: no limit",
            |m: &PageMachine| m.tier.timing.bandwidth,
        )),
        Setting::parsed("order", "NAME", |text| {
            let order = parse_order(text)?;
            Ok(Set::plain(move |m| m.tier.timing.order = order))
        })
        .help(
            "which waiting request goes next: plain (first come, first served), round-robin (over \
             the classes), elevator (by place, as Linux's deadline scheduler), deadline (faults \
             before prefetches before writes)",
        )
        .default("deadline")
        .column("order", "order", Unit::None, |m| {
            match m.tier.timing.order {
                Order::Plain => "plain",
                Order::RoundRobin => "round-robin",
                Order::Elevator => "elevator",
                Order::Deadline(_) => "deadline",
            }
        }),
        Setting::quantity("tier-size", "SIZE", Bytes::parse, |m, size| {
            m.tier.pages = Some(size.pages_needed());
        })
        .help("size of the tier, for its lifetime")
        .otherwise("the footprint")
        .shown("tier", "tier_pages")
        .field(Field::new(
            "tier_pages",
            Unit::Pages,
            "pages of the tier; null: the footprint",
            |m: &PageMachine| m.tier.pages,
        )),
    ]
}

/// Settings of time, warm-up and chance.
fn driving() -> Vec<Setting> {
    vec![
        Setting::quantity("instruction-time", "TIME", Picos::parse, |m, time| {
            m.instruction_ps = time.0;
        })
        .help("time of an instruction, page faults aside")
        .default("0.5ns")
        .column("instruction", "instruction_ps", Unit::Picos, |m| {
            m.instruction_ps
        }),
        Setting::quantity("access-time", "TIME", parse_latency, |m, time| {
            m.access = time
        })
        .help("time between two accesses of a trace that does not count instructions")
        .default("100ns")
        .column("access", "access_ns", Unit::Nanos, |m| m.access),
        Setting::number("warmup", "N", 0..=u64::MAX, |m, accesses| {
            m.warmup = accesses
        })
        .help("accesses before figures are taken")
        .default("0")
        .column("warm-up", "warmup", Unit::None, |m| m.warmup),
        Setting::number("seed", "N", 0..=u64::MAX, |m, seed| m.seed = seed)
            .help("seed of the random numbers that a policy draws")
            .default("1")
            .column("seed", "seed", Unit::None, |m| Unsigned(m.seed)),
    ]
}

/// Returns the name of a value.
fn name<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    let known = names.iter().find(|(_, known)| *known == value);
    known.map_or("", |(name, _)| name)
}

/// Reads replacement policies.
fn policies_of(text: &str) -> Result<Vec<Set>> {
    let specs = replacement::Spec::parse_list(text)
        .map_err(Error::usage)?
        .into_iter();
    let sets = specs.map(|spec| Set::plain(move |m| m.replacement = spec.clone()));
    Ok(sets.collect())
}

/// Reads ways of prefetching.
fn ways(text: &str) -> Result<Vec<Set>> {
    let way = |name: &String| {
        let way = parse_prefetch(name, 0)?;
        Ok(Set::plain(move |m| m.prefetch = way.clone()))
    };
    split_list(text).iter().map(way).collect()
}

/// Reads `vm.page-cluster`, for machines that read ahead as the kernel does.
fn page_cluster(text: &str) -> Result<Set> {
    let number = whole(0..=10_u32)(text)?;
    Ok(Set::plain(move |m| {
        if let Prefetch::Readahead { cluster } = &mut m.prefetch {
            *cluster = number;
        }
    }))
}

/// Reads a number of threads. That a program has none is an error of its own.
fn threads(text: &str) -> Result<Set> {
    let threads = whole(0..=u32::MAX)(text)?;
    Ok(Set::new(move |choice, _| {
        choice.machine.threads = Some(threads).filter(|threads| *threads > 0);
        choice
            .machine
            .threads
            .map(|_| ())
            .ok_or_else(|| Error::usage("a program has at least one thread; --threads 0 is none"))
    }))
}

/// Reads the name of an order in which a device serves requests.
///
/// # Errors
/// A usage error where there is none of this name.
fn parse_order(name: &str) -> Result<Order> {
    match name {
        "plain" => Ok(Order::Plain),
        "round-robin" => Ok(Order::RoundRobin),
        "elevator" => Ok(Order::Elevator),
        "deadline" => Ok(Order::Deadline(Deadlines::default())),
        _ => Err(Error::usage(format!(
            "there is no order `{name}`; there are: plain, round-robin, elevator, deadline"
        ))),
    }
}

/// Returns the tier of a technology.
fn technology(catalogue: &Catalogue, name: &str) -> Result<Tier> {
    let technology = catalogue.get_for(name, |technology| technology.timing().is_ok())?;
    Ok(Tier {
        name: technology.name.clone(),
        timing: technology.timing()?,
        devices: 1,
        energy: Energy::of(technology, terrace_device::Unit::Page),
        endurance: technology.endurance.as_ref().map(|figure| figure.value),
        pages: None,
    })
}
