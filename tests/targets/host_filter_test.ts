import { assert, assertEquals } from "@std/assert";
import type { Address } from "../../src/core/address.ts";
import { Endpoints } from "../../src/core/endpoints.ts";
import { Random } from "../../src/fleet/random.ts";
import { HostFilter } from "../../src/targets/host_filter.ts";

const random = new Random(1);
const ipv4 = () => random.below(2 ** 32);
const ipv6 = () => BigInt(ipv4()) << 96n | BigInt(ipv4()) << 64n | BigInt(ipv4());

/** Whether a filter finds an address, on any port. */
function finds(filter: HostFilter, address: Address): boolean {
  return filter.mayHaveAt(Endpoints.of({ address, port: 1 + random.below(65_535) }), 0);
}

for (const [family, draw] of Object.entries<() => Address>({ ipv4, ipv6 })) {
  Deno.test(`every added address is found, and about 1 % of the others: ${family}`, () => {
    const filter = new HostFilter(random.below(2 ** 32));
    const added = Array.from({ length: 40_000 }, draw);
    for (const address of added) filter.add(address);
    assert(added.every((address) => finds(filter, address)));
    const found = Array.from({ length: 40_000 }, draw).filter((one) => finds(filter, one)).length;
    assert(found > 200 && found < 600, `${found} of 40,000`);
  });
}

Deno.test("a filter with the memory of another finds what is added there", () => {
  const filter = new HostFilter(7);
  const { seed, bits } = filter.memory;
  const other = new HostFilter(seed, bits);
  assertEquals([finds(other, 0xffff_ffff), finds(other, 5n)], [false, false]);
  filter.add(0xffff_ffff);
  filter.add(5n);
  assertEquals([finds(other, 0xffff_ffff), finds(other, 5n)], [true, true]);
});

Deno.test("a full filter finds every address", () => {
  const filter = new HostFilter(7);
  filter.addAll();
  assert(Array.from({ length: 1000 }, ipv4).every((address) => finds(filter, address)));
});
