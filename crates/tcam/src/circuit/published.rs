//! Table 4.1 of Fedorov 2016, with which the model is compared.

/// What the table says of a block of 256 rows, 256 TCAM cells and 512 port cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Delay of the TCAM cells, in ps.
    pub tcam_ps: f64,
    /// Delay of the port memory, in ps.
    pub port_ps: f64,
    /// Power of the TCAM cells, in mW.
    pub tcam_mw: f64,
    /// Power of the port memory, in mW.
    pub port_mw: f64,
    /// Area of the TCAM cells, in um2.
    pub tcam_um2: f64,
    /// Area of the port memory, in um2.
    pub port_um2: f64,
}

/// The flash block.
pub const PUBLISHED_FLASH: Published = Published {
    tcam_ps: 679.0,
    port_ps: 306.0,
    tcam_mw: 65.2,
    port_mw: 14.1,
    tcam_um2: 19_398.6,
    port_um2: 16_731.3,
};

/// The CMOS block.
pub const PUBLISHED_CMOS: Published = Published {
    tcam_ps: 218.0,
    port_ps: 174.0,
    tcam_mw: 96.0,
    port_mw: 33.0,
    tcam_um2: 127_402.0,
    port_um2: 159_252.5,
};

impl Published {
    /// Power of the block, in mW.
    pub fn mw(&self) -> f64 {
        self.tcam_mw + self.port_mw
    }

    /// Area of the block, in um2.
    pub fn um2(&self) -> f64 {
        self.tcam_um2 + self.port_um2
    }
}
