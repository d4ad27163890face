/** What hostile clients request from the mode `open` of the status API. */

/** A public address that may be probed. */
export const PUBLIC = "45.33.32.1";

/** Texts of clients that must cause no packet, without a lookup. */
export const NOT_LOOKED_UP = [
  // private and other special addresses
  ...["10.0.0.1", "172.16.0.1:25566", "192.168.1.1", "100.64.0.1", "198.18.0.1", "127.0.0.1"],
  ...["127.1.2.3:25565", "0.0.0.0", "255.255.255.255", "224.0.0.1", "169.254.1.1", "192.0.2.1"],
  // services of clouds
  ...["169.254.169.254", "169.254.169.254:25565", "100.100.100.200", "168.63.129.16"],
  ...["fd00:ec2::254", "[fd00:ec2::254]:25565", "fd20:ce::254"],
  // IPv6, and IPv4 in it
  ...["::1", "[::1]:25565", "::", "fe80::1", "fc00::1", "ff02::1", "fec0::1", "2001:db8::1"],
  ...["::ffff:127.0.0.1", "::ffff:7f00:1", "[::ffff:10.0.0.1]:25565", "::127.0.0.1", "::a00:1"],
  ...[
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "2001:0:7f00:1::1",
    "fe80::1%eth0",
    "::ffff:0:127.0.0.1",
  ],
  // other forms of 127.0.0.1 and 169.254.169.254, which some resolvers read
  ...["2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1", "127.1", "127.0.1"],
  ...[
    "2852039166",
    "0xa9fea9fe",
    "169.254.43518",
    "0251.0376.0251.0376",
    "127.0.0.1.",
    "１２７.0.0.1",
  ],
  // local names
  ...[
    "localhost",
    "localhost.",
    "LOCALHOST:25565",
    "x",
    "router",
    "mc.lan",
    "mc.local",
    "a.internal",
  ],
  ...["mc.localhost", "metadata.google.internal", "printer.home.arpa", "mc.LAN.", "mc.ⓛocal", "ⓧ"],
  // ports of other services
  ...[`${PUBLIC}:22`, `${PUBLIC}:80`, `${PUBLIC}:1023`, "play.example.org:443", `${PUBLIC}:0`],
  // no addresses at all
  ...["user@45.33.32.1", "user:pass@play.example.org:25565", "http://45.33.32.1:25565/", "a b", ""],
  ...[
    "45.33.32.1%00",
    "%31%32%37.0.0.1",
    "45.33.32.1/24",
    "45.33.32.0-45.33.32.9",
    "[45.33.32.1]x",
  ],
  ...[`${"a.".repeat(130)}example`, "a".repeat(64) + ".example", "45.33.32.1:70000", "a..example"],
];

/** Names that lead to where no packet may go. */
export const LEADS_ASTRAY: readonly (readonly [string, string])[] = [
  ["loopback.example", "127.0.0.1"],
  ["private.example", "10.0.0.1"],
  ["home.example", "192.168.1.1"],
  ["metadata.example", "169.254.169.254"],
  ["azure.example", "168.63.129.16"],
  ["alibaba.example", "100.100.100.200"],
  ["aws6.example", "fd00:ec2::254"],
  ["loopback6.example", "::1"],
  ["mapped.example", "::ffff:10.0.0.1"],
  ["compatible.example", "::10.0.0.1"],
  ["nat64.example", "64:ff9b::7f00:1"],
  ["6to4.example", "2002:7f00:1::1"],
  ["linklocal.example", "fe80::1"],
  ["multicast.example", "224.0.0.1"],
  ["zero.example", "0.0.0.0"],
  ["excluded.example", "45.33.32.66"],
];

/** Services in SRV records to which no packet may go, and the addresses of their hosts. */
export const SERVICES: readonly (readonly [string, string, number, readonly string[]])[] = [
  ["srv22.example", "mc.example", 22, [PUBLIC]],
  ["srv1023.example", "mc.example", 1023, [PUBLIC]],
  ["srvprivate.example", "inside.example", 25565, ["10.0.0.1"]],
  ["srvlocal.example", "localhost", 25565, ["127.0.0.1"]],
  ["srvlan.example", "mc.lan", 25565, ["192.168.1.1"]],
  ["srvmetadata.example", "169.254.169.254.example", 25565, ["169.254.169.254"]],
];
