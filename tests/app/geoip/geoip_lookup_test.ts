/** Tests for `src/app/geoip/geoip_lookup.ts` and `src/app/geoip/mmdb.ts`. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { parseAddress } from "../../../src/core/address.ts";
import {
  type GeoipValues,
  readGeoipFiles,
  readGeoipLookup,
  UNKNOWN_GEOIP,
} from "../../../src/app/geoip/geoip_lookup.ts";
import { loadMmdb, MmdbError } from "../../../src/app/geoip/mmdb.ts";
import { type FileForm, mmdbBytes, type Network, type Value } from "./mmdb_writer.ts";

function network(text: string, record: Value): Network {
  const [address, prefix] = text.split("/");
  return { address: parseAddress(address)!, prefix: Number(prefix), record };
}

const COUNTRIES = [
  network("192.0.2.0/24", { country: { iso_code: "DE", geoname_id: 2_921_044 } }),
  network("198.51.100.0/25", { country: { iso_code: "NL" } }),
];
const OPERATORS = [
  network("192.0.0.0/16", {
    autonomous_system_number: 64_500,
    autonomous_system_organization: "Example Network",
  }),
];

function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

function lookup(
  networks: readonly Network[],
  form: FileForm,
): Promise<(host: string) => GeoipValues> {
  return readGeoipLookup([shared(mmdbBytes(networks, form))]);
}

for (const bits of [24, 28, 32] as const) {
  for (const version of [4, 6] as const) {
    Deno.test(`a file of version ${version} with records of ${bits} bits has IPv4 networks`, async () => {
      const place = await lookup(COUNTRIES, { bits, version });
      assertEquals(place("192.0.2.255").country, "DE");
      assertEquals(place("198.51.100.127").country, "NL");
      assertEquals(place("198.51.100.128"), UNKNOWN_GEOIP);
      assertEquals(place("2001:db8::1"), UNKNOWN_GEOIP);
    });
  }
}

Deno.test("a file has IPv6 and IPv4 networks in one tree, and zones of addresses are ignored", async () => {
  const place = await lookup(
    [...COUNTRIES, network("2001:db8:8000::/33", { country_code: "FR" })],
    {
      bits: 28,
      version: 6,
    },
  );
  assertEquals(place("2001:db8:8000::1%eth0").country, "FR");
  assertEquals(place("2001:db8::1").country, null);
  assertEquals(place("192.0.2.1").country, "DE");
  assertEquals(place("localhost"), UNKNOWN_GEOIP);
});

Deno.test("texts that records share are found by pointers of 1, 2 and 3 bytes", async () => {
  // Each name of 200 bytes is that of two networks, so that pointers lead to places up to 560 KB.
  const nameOf = (i: number) => `Network ${i >> 1} ${"x".repeat(200)}`.slice(0, 200);
  const networks = Array.from({ length: 5000 }, (_, i) =>
    network(`10.${i >> 8}.${i & 255}.0/24`, {
      ...{ country: { iso_code: i % 2 === 0 ? "DE" : "NL" }, autonomous_system_number: 64_500 + i },
      autonomous_system_organization: nameOf(i),
    }));
  const place = await lookup(networks, { bits: 28, version: 6 });
  for (const [i] of networks.entries()) {
    assertEquals(place(`10.${i >> 8}.${i & 255}.9`), {
      ...{ country: i % 2 === 0 ? "DE" : "NL", asn: 64_500 + i, operator: nameOf(i) },
    });
  }
});

Deno.test("countries and operators come from the first file that has them", async () => {
  const form = { bits: 24, version: 4 } as const;
  const files = [COUNTRIES, OPERATORS, [network("192.0.0.0/8", { country: "AT" })]]
    .map((networks) => shared(mmdbBytes(networks, form)));
  const place = await readGeoipLookup(files);
  assertEquals(place("192.0.2.1"), { country: "DE", asn: 64_500, operator: "Example Network" });
  assertEquals(place("192.0.3.1"), { country: "AT", asn: 64_500, operator: "Example Network" });
  assertEquals(place("192.1.0.1"), { country: "AT", asn: null, operator: null });
});

Deno.test("records of known publishers are read", async () => {
  const known: readonly (readonly [Value, GeoipValues])[] = [
    [
      { country: "Canada", country_code: "CA", asn: "AS174", as_name: "Cogent" },
      { country: "CA", asn: 174, operator: "Cogent" },
    ],
    [
      {
        country: { iso_code: "US" },
        traits: { autonomous_system_number: 64_501, autonomous_system_organization: "Traits" },
      },
      { country: "US", asn: 64_501, operator: "Traits" },
    ],
    [{ country: { iso_code: 7 }, asn: "64500", as_name: "x" }, UNKNOWN_GEOIP],
    [{ country: "usa", autonomous_system_number: 0 }, UNKNOWN_GEOIP],
    ["US", UNKNOWN_GEOIP],
    [{ asn: "AS1", as_name: " " }, { country: null, asn: 1, operator: null }],
    [{ country: "GB", as_name: "no number" }, { country: "GB", asn: null, operator: null }],
  ];
  for (const [record, expected] of known) {
    const place = await lookup([network("192.0.2.0/24", record)], { bits: 24, version: 4 });
    assertEquals(place("192.0.2.9"), expected, JSON.stringify(record));
  }
});

async function readBytes(bytes: Uint8Array) {
  const path = await Deno.makeTempFile({ suffix: ".mmdb" });
  try {
    await Deno.writeFile(path, bytes);
    return await readGeoipFiles([path]);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("a licence's attribution, else the description of a file is shown", async () => {
  const attributions = async (metadata: FileForm["metadata"]) =>
    (await readBytes(mmdbBytes(COUNTRIES, { bits: 24, version: 4, metadata }))).attributions;
  assertEquals(await attributions({ database_type: "DBIP-Country-Lite" }), [
    "IP Geolocation by DB-IP: https://db-ip.com",
  ]);
  assertEquals(await attributions({ database_type: "GeoLite2-Country" }), [
    "This product includes GeoLite data created by MaxMind, available from https://www.maxmind.com",
  ]);
  assertEquals(await attributions({ description: { de: "Eigene", en: " Our own file " } }), [
    "Countries and operators: Our own file",
  ]);
  assertEquals(await attributions({ description: "no map", database_type: "x" }), []);
});

Deno.test("files that cannot be used are refused by name", async () => {
  const whole = mmdbBytes(COUNTRIES, { bits: 24, version: 6 });
  const withoutPlaces = mmdbBytes([network("192.0.2.0/24", { city: "Berlin" })], {
    bits: 24,
    version: 4,
  });
  for (
    const [bytes, reason] of [
      [new Uint8Array(), "it is no MaxMind DB file"],
      [new TextEncoder().encode("host,port\n"), "it is no MaxMind DB file"],
      [whole.slice(300), "its search tree is incomplete"],
      [whole.slice(0, -40), "its metadata is damaged"],
      [withoutPlaces, "no country and no autonomous system"],
    ] as const
  ) {
    const error = await assertRejects(() => readBytes(bytes), InputError, reason);
    assert(error.message.includes(".mmdb"), error.message);
  }
  await assertRejects(() => readGeoipFiles(["/none.mmdb"]), InputError, "there is no such file");
});

/** Pseudo-random whole numbers below a limit: a linear congruential generator. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

/** A file with errors: bytes changed, removed, or a part overwritten. */
function damaged(whole: Uint8Array, random: (below: number) => number): Uint8Array {
  let bytes = whole.slice();
  for (let i = 0; i <= random(8); i++) {
    const [kind, at] = [random(4), random(bytes.length)];
    if (kind === 0) bytes = bytes.slice(0, Math.max(1, at));
    else if (kind === 1) bytes.fill(random(256), at, at + random(40));
    else bytes[at] = random(256);
  }
  return bytes;
}

Deno.test("damaged files give an error, or places of the right types, in bounded time", async () => {
  const networks = [...COUNTRIES, ...OPERATORS, network("2001:db8::/32", { country: "FR" })];
  const hosts = ["192.0.2.1", "198.51.100.1", "10.0.0.1", "2001:db8::1", "ff::1"];
  let [refused, looked, longest] = [0, 0, 0];
  for (let seed = 0; seed < 300; seed++) {
    const bits = ([24, 28, 32] as const)[seed % 3];
    const bytes = damaged(mmdbBytes(networks, { bits, version: 6 }), numbers(seed));
    const began = performance.now();
    try {
      const place = await readGeoipLookup([shared(bytes)]);
      for (const host of hosts) {
        const { country, asn, operator } = place(host);
        assert(country === null || /^[A-Z]{2}$/.test(country));
        assert(asn === null || Number.isInteger(asn) && asn > 0 && asn < 2 ** 32);
        assert(operator === null || operator.length <= 200);
        looked++;
      }
    } catch (error) {
      assert(error instanceof MmdbError, String(error));
      refused++;
    }
    longest = Math.max(longest, performance.now() - began);
  }
  assert(refused > 50 && looked > 500, `${refused} refused, ${looked} looked up`);
  assert(longest < 500, `${longest} ms`);
});

Deno.test("records that refer to themselves, or repeat long lists, end in bounded time", async () => {
  const bytes = mmdbBytes([network("192.0.2.0/24", { country: "DE" })], { bits: 24, version: 4 });
  const marker = bytes.lastIndexOf(0xab);
  const data = bytes.lastIndexOf(7 << 5 | 1, marker);
  bytes.set([1 << 5, 0], data); // a pointer to itself
  assertEquals((await readGeoipLookup([shared(bytes)]))("192.0.2.1"), UNKNOWN_GEOIP);
  bytes.set([31, 4, 255, 255, 255, 1 << 5, 0], data); // a list of 16 million items, each this list
  const file = (await loadMmdb())(shared(bytes));
  assertEquals(file.find(0xc0_00_02_01), undefined);
});
