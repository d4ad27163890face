/** Covers src/app/lan/local_networks.ts. */
import { assertEquals } from "@std/assert";
import { localNetworks } from "../../../src/app/lan/local_networks.ts";

Deno.test("a link has the networks of the interface's other IPv6 addresses", () => {
  const one = (name: string, address: string, netmask: string, scopeid: number | null) => ({
    family: address.includes(":") ? "IPv6" as const : "IPv4" as const,
    cidr: "",
    mac: "02:00:00:00:00:01",
    ...{ name, address, netmask, scopeid },
  });
  const mask = "ffff:ffff:ffff:ffff::";
  const networks = localNetworks([
    one("lo", "127.0.0.1", "255.0.0.0", null),
    one("lo", "::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0),
    one("eth0", "192.168.1.5", "255.255.255.0", null),
    one("eth0", "fd00:77::1", mask, 0),
    one("eth0", "fe80::5", mask, 2),
    one("eth1", "fe80::6", mask, 3),
  ] as Deno.NetworkInterfaceInfo[]);
  const [prefix, link] = [0xfd00_0077n << 96n, 0xfe80n << 112n];
  assertEquals(networks, [
    { address: 0xc0a80105, netmask: 0xffffff00 },
    {
      address: link | 5n,
      zone: Deno.build.os === "windows" ? "2" : "eth0",
      index: 2,
      networks: [{ start: prefix, end: prefix + (1n << 64n) }],
    },
    {
      address: link | 6n,
      zone: Deno.build.os === "windows" ? "3" : "eth1",
      index: 3,
      networks: [],
    },
  ]);
});
