"""Named periods with their first and last year, as encyclopedias give them; years before Christ are negative."""

from __future__ import annotations

from typing import Final

PERIODS: Final[dict[str, tuple[int, int]]] = {
    # Reigns and periods of Britain
    "tudor": (1485, 1603), "elizabethan": (1558, 1603), "jacobean": (1603, 1625), "stuart": (1603, 1714),
    "carolean": (1660, 1685), "restoration": (1660, 1688), "william and mary": (1689, 1702),
    "queen anne": (1702, 1714), "georgian": (1714, 1837), "george i": (1714, 1727), "george ii": (1727, 1760),
    "george iii": (1760, 1820), "george iv": (1820, 1830), "regency": (1811, 1820), "william iv": (1830, 1837),
    "victorian": (1837, 1901), "edwardian": (1901, 1910),
    # France
    "louis xiii": (1610, 1643), "louis xiv": (1643, 1715), "régence": (1715, 1723), "louis xv": (1723, 1774),
    "louis xvi": (1774, 1792), "directoire": (1795, 1799), "first empire": (1804, 1815), "empire": (1804, 1815),
    "charles x": (1824, 1830), "louis philippe": (1830, 1848), "second empire": (1852, 1870),
    "napoleon iii": (1852, 1870), "belle époque": (1871, 1914), "belle epoque": (1871, 1914),
    # Germany, Austria, the United States
    "biedermeier": (1815, 1848), "wilhelmine": (1888, 1918), "weimar": (1918, 1933), "colonial": (1607, 1776),
    "federal": (1788, 1820), "antebellum": (1812, 1861), "gilded age": (1870, 1900), "depression era": (1929, 1939),
    # Styles of art and design
    "romanesque": (1000, 1200), "gothic": (1150, 1500), "renaissance": (1400, 1600), "mannerist": (1520, 1600),
    "baroque": (1600, 1750), "rococo": (1720, 1780), "neoclassical": (1760, 1830), "chippendale": (1750, 1780),
    "hepplewhite": (1780, 1800), "sheraton": (1790, 1820), "romantic": (1790, 1850), "gothic revival": (1740, 1900),
    "renaissance revival": (1850, 1880), "colonial revival": (1880, 1940), "aesthetic movement": (1860, 1900),
    "arts and crafts": (1880, 1920), "impressionist": (1860, 1890), "art nouveau": (1890, 1910),
    "jugendstil": (1890, 1910), "vienna secession": (1897, 1914), "mission": (1895, 1920), "bauhaus": (1919, 1933),
    "art deco": (1920, 1939), "streamline moderne": (1930, 1942), "mid century": (1945, 1969),
    "mid century modern": (1945, 1969), "midcentury": (1945, 1969), "midcentury modern": (1945, 1969),
    "space age": (1957, 1972), "memphis": (1980, 1988), "postmodern": (1970, 1995),
    # Wars
    "interwar": (1918, 1939), "postwar": (1945, 1970), "post war": (1945, 1970), "civil war": (1861, 1865),
    "world war i": (1914, 1918), "first world war": (1914, 1918), "wwi": (1914, 1918),
    "world war ii": (1939, 1945), "second world war": (1939, 1945), "wwii": (1939, 1945),
    # Japan
    "jomon": (-10500, -300), "yayoi": (-300, 300), "nara": (710, 794), "heian": (794, 1185), "kamakura": (1185, 1333),
    "muromachi": (1336, 1573), "momoyama": (1573, 1603), "edo": (1603, 1868), "tokugawa": (1603, 1868),
    "meiji": (1868, 1912), "taisho": (1912, 1926), "taishō": (1912, 1926), "showa": (1926, 1989),
    "shōwa": (1926, 1989), "heisei": (1989, 2019),
    # China and Korea
    "shang": (-1600, -1046), "zhou": (-1046, -256), "warring states": (-475, -221), "qin": (-221, -206),
    "han": (-206, 220), "western han": (-206, 9), "eastern han": (25, 220), "six dynasties": (220, 589),
    "northern wei": (386, 534), "sui": (581, 618), "tang": (618, 907), "five dynasties": (907, 960),
    "liao": (907, 1125), "song": (960, 1279), "northern song": (960, 1127), "southern song": (1127, 1279),
    "jin": (1115, 1234), "yuan": (1271, 1368), "ming": (1368, 1644), "wanli": (1573, 1620), "qing": (1644, 1912),
    "ch ing": (1644, 1912), "kangxi": (1662, 1722), "yongzheng": (1723, 1735), "qianlong": (1736, 1795),
    "jiaqing": (1796, 1820), "daoguang": (1821, 1850), "guangxu": (1875, 1908), "goryeo": (918, 1392),
    "joseon": (1392, 1897),
    # Islamic world and India
    "umayyad": (661, 750), "abbasid": (750, 1258), "fatimid": (909, 1171), "mamluk": (1250, 1517),
    "timurid": (1370, 1507), "safavid": (1501, 1736), "ottoman": (1299, 1922), "qajar": (1789, 1925),
    "mughal": (1526, 1857), "british raj": (1858, 1947),
    # Russia
    "imperial russian": (1721, 1917), "soviet": (1922, 1991),
    # Antiquity and the Middle Ages
    "old kingdom": (-2686, -2181), "middle kingdom": (-2055, -1650), "new kingdom": (-1550, -1069),
    "ptolemaic": (-305, -30), "minoan": (-3000, -1100), "mycenaean": (-1600, -1100), "geometric": (-900, -700),
    "etruscan": (-900, -100), "classical greek": (-480, -323), "hellenistic": (-323, -31),
    "roman republic": (-509, -27), "roman imperial": (-27, 476), "roman": (-509, 476), "byzantine": (330, 1453),
    "viking": (793, 1066), "carolingian": (750, 900), "anglo saxon": (450, 1066), "norman": (1066, 1154),
    "medieval": (500, 1500), "middle ages": (500, 1500), "bronze age": (-3300, -1200), "iron age": (-1200, -500),
}  # fmt: skip
"""Name, lower case with spaces for hyphens, to (first year, last year)."""
