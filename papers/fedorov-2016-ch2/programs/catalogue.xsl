<?xml version="1.0"?>
<!-- A catalogue as a page: by kind, sorted by price, with totals and what each item needs. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:output method="html"/>
  <xsl:key name="kind" match="item" use="@kind"/>
  <xsl:key name="id" match="item" use="@id"/>

  <xsl:template match="catalogue">
    <html><body>
      <xsl:for-each select="item[generate-id() = generate-id(key('kind', @kind)[1])]">
        <xsl:sort select="@kind"/>
        <h1><xsl:value-of select="@kind"/>: <xsl:value-of select="count(key('kind', @kind))"/></h1>
        <p>mean price <xsl:value-of select="round(sum(key('kind', @kind)/@price) div count(key('kind', @kind)))"/></p>
        <xsl:apply-templates select="key('kind', @kind)"><xsl:sort select="@price" data-type="number"/></xsl:apply-templates>
      </xsl:for-each>
    </body></html>
  </xsl:template>

  <xsl:template match="item">
    <h2 id="{@id}"><xsl:value-of select="translate(title, 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"/></h2>
    <p>needs <xsl:value-of select="key('id', needs/@ref)/title"/></p>
    <table><xsl:apply-templates select="part"><xsl:sort select="@count" data-type="number" order="descending"/></xsl:apply-templates></table>
  </xsl:template>

  <xsl:template match="part">
    <tr><td><xsl:number/></td><td><xsl:value-of select="concat(substring(., 1, 3), '-', string-length(.))"/></td>
      <td><xsl:value-of select="@count"/></td><xsl:if test="@count &gt; 50"><td>many</td></xsl:if></tr>
  </xsl:template>
</xsl:stylesheet>
