/** Of src/campaign/spec.ts. The specification in `golden_spec.json` is one that is stored in NATS. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  defaultParts,
  formatSpec,
  getSpec,
  parseSpec,
  putSpec,
  readSpec,
  removeSpecs,
  type Spec,
  specDigest,
  specOptions,
} from "../../src/campaign/spec.ts";
import { connectBroker } from "../../src/campaign/nats/connection.ts";
import { ensureTopology } from "../../src/campaign/nats/topology.ts";
import { parseAddress } from "../../src/core/address.ts";
import { FieldError } from "../../src/core/checked_values.ts";
import { InputError } from "../../src/core/errors.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { natsTest, startNats } from "./nats_server.ts";
import golden from "./golden_spec.json" with { type: "json" };

const GOLDEN = JSON.stringify(golden);
const DIGEST = "0fcf986ddebc4fa5d4f80412e626a2d1a7a18aa0ef271b9fbbb06cd140528b8b";

const host = parseAddress("fd00::7") as bigint;
const SPEC: Spec = {
  program: "1.2.3",
  name: "lab-2",
  submittedAt: 1_700_000_000_000,
  parts: 64,
  maxRunning: 8,
  rate: 20_000.5,
  ackWaitMs: 30_000,
  configuration: {
    scanId: "01928d5e-0000-7000-8000-000000000000",
    given: {
      words: ["10.0.0.0/16", "[fd00::7]:19133"],
      given: new Map([
        ["seed", ["7"]],
        ["protocol", ["raknet"]],
        ["i-have-permission", ["true"]],
      ]),
    },
    found: {
      inclusions: [
        { range: { start: 0x0a000000, end: 0x0a010000 }, port: undefined },
        { range: { start: host, end: host + 1n }, port: 19_133 },
      ],
      excluded: [{ start: 0x0a000700, end: 0x0a000800 }],
      known: [],
      names: new Map(),
      services: new Map(),
    },
    responders: [],
    order: "ab".repeat(32),
  },
};

Deno.test("a specification is read and written as stored", () => {
  assertEquals(parseSpec(GOLDEN, PROTOCOLS), SPEC);
  assertEquals(formatSpec(SPEC), GOLDEN);
  assertEquals(specDigest(GOLDEN), DIGEST);
  const unlimited = { ...SPEC, rate: null };
  assertEquals(parseSpec(formatSpec(unlimited), PROTOCOLS), unlimited);
});

/** The golden specification with another value of a field; `undefined`: without the field. */
function withField(name: string, value: unknown): string {
  return JSON.stringify({ ...golden, [name]: value });
}

/** The golden specification with another value of a field of its configuration. */
function configuredWith(fields: object): string {
  const configuration = { ...JSON.parse(golden.configuration), ...fields };
  return withField("configuration", JSON.stringify(configuration));
}

Deno.test("each field of a specification is checked", () => {
  const wrong: Readonly<Record<keyof typeof golden, readonly unknown[]>> = {
    form: [2, "1", null],
    program: ["", 1, "a\nb", "1".repeat(101)],
    name: ["", "Lab", "-lab", "a.b", "a".repeat(41), 7],
    submittedAt: [-1, 1.5, 8.65e15, "0"],
    parts: [0, 4097, 1.5, "64"],
    maxRunning: [0, 4097, null],
    rate: [0, -1, "20000", true],
    ackWaitMs: [0, 999, 86_400_001],
    configuration: [null, {}, "", "[]", "{"],
  };
  for (const name of Object.keys(golden) as (keyof typeof golden)[]) {
    for (const value of [undefined, ...wrong[name]]) {
      const { message } = assertThrows(
        () => parseSpec(withField(name, value), PROTOCOLS),
        FieldError,
      );
      assertEquals(message.includes(name), true, `${name} ${value}: ${message}`);
    }
  }
  for (const text of ["", "null", "[]", "7", GOLDEN.slice(1), withField("more", 1)]) {
    assertThrows(() => parseSpec(text, PROTOCOLS), FieldError);
  }
});

Deno.test("a configuration with options of other commands, or without one order, is refused", () => {
  const { options } = JSON.parse(golden.configuration);
  const refusal = (more: object) =>
    assertThrows(
      () => parseSpec(configuredWith({ options: { ...options, ...more } }), PROTOCOLS),
      FieldError,
    ).message;
  for (
    const name of ["output", "opt-out-file", "shard", "rescan", "dry-run", "metrics", "checkpoint"]
  ) {
    const message = `in configuration, there is no field options.${name}`;
    assertEquals(refusal({ [name]: ["x"] }), message);
  }
  const unordered = "in configuration, options must have either seed or no-randomize";
  assertEquals(refusal({ seed: undefined }), unordered);
  assertEquals(refusal({ "no-randomize": ["true"] }), unordered);
  const ascending = { ...options, seed: undefined, "no-randomize": ["true"] };
  parseSpec(configuredWith({ options: ascending }), PROTOCOLS);
  assertThrows(
    () => parseSpec(configuredWith({ order: "ab" }), PROTOCOLS),
    FieldError,
    "in configuration, order is",
  );
});

Deno.test("a specification has no option that names a file to write, or an output", () => {
  const names = specOptions().map(({ name }) => name);
  const paths = specOptions().filter(({ takes }) => takes?.isPath).map(({ name }) => name);
  assertEquals(paths, []);
  assertEquals(
    ["ports", "protocol", "seed", "rate", "retries", "verify"].filter((one) =>
      !names.includes(one)
    ),
    [],
  );
});

const EXPECTED = { name: "lab-2", digest: DIGEST, program: "1.2.3", allProtocols: PROTOCOLS };

Deno.test("a specification that is not the expected one is refused with the reason", () => {
  assertEquals(readSpec(GOLDEN, EXPECTED), SPEC);
  const refusal = (text: string, change: Partial<typeof EXPECTED> = {}) =>
    assertThrows(
      () => readSpec(text, { ...EXPECTED, digest: specDigest(text), ...change }),
      InputError,
    ).message;
  const start = 'Cannot use campaign "lab-2": ';
  assertEquals(
    refusal(withField("parts", 65), { digest: DIGEST }),
    `${start}its specification was changed after it was submitted: the SHA-256 is another one`,
  );
  assertEquals(
    refusal(JSON.stringify({ form: 2, news: true })),
    `${start}in its specification, form is 2, and this program reads form 1`,
  );
  assertEquals(
    refusal(GOLDEN, { program: "1.3.0" }),
    `${start}in its specification, program is 1.2.3, and this is 1.3.0: the order of targets may differ`,
  );
  assertEquals(
    refusal(GOLDEN, { name: "lab-3" }),
    'Cannot use campaign "lab-3": in its specification, name is "lab-2"',
  );
  assertEquals(
    refusal(withField("parts", 0)),
    `${start}in its specification, parts is 0, and must be a whole number from 1 to 4096`,
  );
  assertEquals(refusal("{"), `${start}in its specification, ${messageOf(() => JSON.parse("{"))}`);
});

function messageOf(run: () => unknown): string {
  return `it is not JSON: ${assertThrows(run, Error).message}`;
}

Deno.test("by default, parts take about a minute, and each has a network", () => {
  assertEquals([0, 60, 480, 481, 3600].map((seconds) => defaultParts(seconds, 1e6)), [
    8,
    8,
    8,
    9,
    60,
  ]);
  assertEquals(defaultParts(1e9, 1e6), 4096);
  assertEquals(defaultParts(1e9, 100), 100);
  assertEquals(defaultParts(0, 3), 3);
});

natsTest(
  "a specification is stored by its digest, and read only if it is the expected one",
  async () => {
    await using server = await startNats();
    await using broker = await connectBroker({ nats: server.url }, "test");
    await ensureTopology(broker, { replicas: 1, resultsLimit: 2 ** 20 });
    await assertRejects(
      () => getSpec(broker, EXPECTED),
      InputError,
      "its specification is missing",
    );
    assertEquals(await putSpec(broker, "lab-2", GOLDEN), DIGEST);
    await putSpec(broker, "lab-2", GOLDEN);
    // Another submitter of the same name does not overwrite it.
    const other = withField("parts", 65);
    const digest = await putSpec(broker, "lab-2", other);
    assertEquals(await getSpec(broker, EXPECTED), SPEC);
    assertEquals((await getSpec(broker, { ...EXPECTED, digest })).parts, 65);
    await assertRejects(
      () => putSpec(broker, "lab-3", " ".repeat(2 ** 26 + 1)),
      InputError,
      "more than 64 MiB",
    );
    const store = await broker.objects("BS_SPECS");
    await store.putBlob({ name: `lab-2.${DIGEST}` }, new TextEncoder().encode(other));
    await assertRejects(() => getSpec(broker, EXPECTED), InputError, "was changed");
    await putSpec(broker, "lab-22", GOLDEN);
    await removeSpecs(broker, "lab-2");
    await assertRejects(() => getSpec(broker, EXPECTED), InputError, "is missing");
    assertEquals((await store.list()).map(({ name }) => name), [`lab-22.${DIGEST}`]);
  },
);
