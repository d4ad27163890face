/**
 * The engine that a scan uses, and the messages about it.
 *
 * Covers src/app/engines/ and src/app/settings/engine_names.ts.
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  chooseEngine,
  type EngineConditions,
  spareThreads,
} from "../../../src/app/engines/choose_engine.ts";
import type { Limits } from "../../../src/net/throttle.ts";
import {
  type EngineChoice,
  type EngineName,
  ENGINES,
} from "../../../src/app/settings/engine_names.ts";
import { summary } from "../../../src/cli/term/scan_summary.ts";
import { codeList, sendErrorLine } from "../../../src/app/engines/send_error_lines.ts";
import { InputError } from "../../../src/core/errors.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { openSocket } from "../../../src/net/deno/udp_socket.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { serverId } from "../../../src/core/record.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { ENVIRONMENT, run, SCAN } from "../../cli/program.ts";
import { longTest, type Register } from "../../long.ts";

const GROUNDS: EngineConditions = {
  ...{ os: "linux", arch: "aarch64" },
  granted: () => true,
  load: () => Promise.resolve({ open: (local) => openSocket(local) }),
};
const BROKEN = { ...GROUNDS, load: () => Promise.reject(new Error("no libc.so.6")) };

const LACKS: readonly [Partial<EngineConditions>, string][] = [
  [{ os: "darwin" }, "it needs Linux on x86-64 or arm64"],
  [{ arch: "riscv64" }, "it needs Linux on x86-64 or arm64"],
  [{ granted: (name) => name !== "ffi" }, "it needs --allow-ffi"],
  [{ granted: (name) => name !== "net" }, "it would not obey an --allow-net with a list of hosts"],
];

Deno.test("the fast engine is chosen where it can run, and the portable one elsewhere", async () => {
  const reported: string[] = [];
  const choose = async (wanted: "portable" | "udp" | undefined, conditions: EngineConditions) =>
    (await chooseEngine(wanted, conditions, (line) => reported.push(line))).name;
  assertEquals(await choose(undefined, GROUNDS), "udp");
  assertEquals(await choose("udp", GROUNDS), "udp");
  assertEquals(await choose("portable", BROKEN), "portable");
  for (const [lack] of LACKS) {
    assertEquals(await choose(undefined, { ...BROKEN, ...lack }), "portable");
  }
  assertEquals(reported, []);
  assertEquals(await choose(undefined, BROKEN), "portable");
  assertEquals(reported, [
    "blocksweep: using engine portable; udp is not available: no libc.so.6",
  ]);
});

Deno.test("a named fast engine that cannot run is refused with the missing permission or library", async () => {
  for (const [lack, message] of [...LACKS, [BROKEN, "no libc.so.6"] as const]) {
    await assertRejects(
      () => chooseEngine("udp", { ...GROUNDS, ...lack }, () => {}),
      InputError,
      `Cannot use --engine udp: ${message}`,
    );
  }
});

/** Conditions under which only some engines run. Others are unsuitable, or fail. */
function groundsWith(
  running: readonly string[],
  unsuited: Record<string, string>,
): EngineConditions {
  return {
    ...GROUNDS,
    load(name) {
      if (name in unsuited) return Promise.resolve({ unsuited: unsuited[name] });
      if (running.includes(name)) return GROUNDS.load(name);
      return Promise.reject(new Error(`no ${name}`));
    },
  };
}

Deno.test("engines that write frames are used only when named, or chosen as the fastest", async () => {
  const choose = async (wanted: EngineChoice | undefined, conditions: EngineConditions) => {
    const reported: string[] = [];
    const { name } = await chooseEngine(wanted, conditions, (line) => reported.push(line));
    return [name, ...reported];
  };
  const all = groundsWith(ENGINES, {});
  assertEquals(await choose(undefined, all), ["udp"]);
  assertEquals(await choose("packet", all), ["packet"]);
  assertEquals(await choose("fastest", all), [ENGINES.at(-1)!]);
  const lo = Object.fromEntries(ENGINES.slice(2).map((name) => [name, "lo is loopback"]));
  assertEquals(await choose("packet", groundsWith(["udp"], lo)), [
    ...["udp", "blocksweep: using engine udp; packet is not available: lo is loopback"],
  ]);
  const framers = ENGINES.slice(2).toReversed();
  assertEquals(await choose("fastest", groundsWith(["udp"], lo)), [
    ...[
      "udp",
      `blocksweep: using engine udp; ${framers.join(" and ")} are not available: lo is loopback`,
    ],
  ]);
  assertEquals(
    await choose("fastest", groundsWith(["packet"], {})).then(([name]) => name),
    "packet",
  );
  const none = [...framers, "udp"].map((name) => `${name} is not available: no ${name}`).join("; ");
  assertEquals(await choose("fastest", groundsWith([], {})), [
    ...["portable", `blocksweep: using engine portable; ${none}`],
  ]);
  const bare = { ...all, granted: () => false };
  const [name, line] = await choose("fastest", bare);
  assertEquals(name, "portable");
  assertStringIncludes(
    line,
    "using engine portable; a faster one is not available: it needs --allow-ffi",
  );
  await assertRejects(
    () => choose("packet", bare),
    InputError,
    "Cannot use --engine packet: it needs",
  );
  await assertRejects(
    () => choose("packet", groundsWith(["udp"], {})),
    InputError,
    "Cannot use --engine packet: no packet",
  );
  const broken = { ...all, load: () => Promise.reject(new InputError("no interface eth9")) };
  await assertRejects(() => choose("fastest", broken), InputError, "no interface eth9");
});

Deno.test("send errors are explained, and counted by name", () => {
  assertMatch(sendErrorLine("EPERM", "refused")!, /\(EPERM\): a firewall of this machine .*nft/);
  assertEquals(
    sendErrorLine("EIO", "refused"),
    "blocksweep: the system refuses packets (EIO)",
  );
  assertMatch(sendErrorLine("ENETDOWN", "waits")!, /the interface is down/);
  assertEquals(
    sendErrorLine("EMFILE", "short"),
    "blocksweep: no file descriptors left (EMFILE): connections and inspections wait; results " +
      "become incomplete if that lasts: raise the limit (ulimit -n), or lower --concurrency",
  );
  const ports = sendErrorLine("EADDRNOTAVAIL", "short")!;
  assertMatch(ports, /no local ports left \(EADDRNOTAVAIL\): .*lasts: lower --concurrency$/);
  assertEquals(sendErrorLine("ENOBUFS", "waits"), undefined);
  assertEquals(codeList({ EINVAL: 3, EPERM: 12_000 }), "12,000 EPERM, 3 EINVAL");
});

Deno.test("the summary has the engine, its receive buffer, and the number of dropped datagrams", () => {
  const end = {
    reason: "done",
    marks: { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } },
  };
  const line = (change: object) =>
    summary(
      { ...newState("", 0), passes: 1, ...change },
      end as Parameters<typeof summary>[1],
      {
        outputs: [],
        databases: [],
        retries: 1,
        given: new Map(),
        clock: systemClock,
        verbose: true,
      },
    )
      .filter((one) => /^engine|receive buffer/.test(one));
  assertEquals(line({ receiveBuffer: 5 << 20 }), ["engine: portable"]);
  assertEquals(line({ engine: "udp", receiveBuffer: 425_984 }), [
    "engine: udp, receive buffer 0.4 MiB",
  ]);
  assertEquals(line({ engine: "udp", threads: 2, receiveBuffer: 425_984 }), [
    "engine: udp, 2 sender threads, receive buffer 0.4 MiB",
  ]);
  assertEquals(line({ engine: "packet", receiveBuffer: 2 ** 20, waits: { ENOBUFS: 7 } }), [
    "engine: packet, receive buffer 1 MiB, sending waited (7 ENOBUFS)",
  ]);
  const [, lossy] = line({ engine: "udp", receiveBuffer: 128 << 20, dropped: 1234 });
  assertStringIncludes(
    lossy,
    "the system dropped 1,234 received datagrams: the receive buffer (128 MiB) was full, or checksums",
  );
});

const linuxTest: Register = Deno.build.os === "linux"
  ? longTest
  : (name, fn) => Deno.test.ignore(`${name} (Linux only)`, fn);

const RANGE = { start: 0x7f2d0000, end: 0x7f2d0100 };
const FAST = ["--allow-net", "--allow-ffi", ...SCAN.filter((one) => !one.includes("net"))];

linuxTest("the fast engine finds the same servers as the portable one", async () => {
  const hosts = drawFleet({ servers: 60, hostile: 10, range: RANGE, seed: 6 });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const found = async (permissions: readonly string[], engine: string, ...more: string[]) => {
    const args = ["scan", "127.45.0.0/24", "--cooldown", "1s", "--timeout", "2s", ...more];
    const { code, stdout, stderr } = await run([...args, "-v", "-o", "-"], { permissions });
    assertEquals(code, 0, stderr);
    assertMatch(stderr, new RegExp(`^engine: ${engine}`, "m"));
    return readNdjson(stdout).map(serverId).toSorted();
  };
  const rows = await found(FAST, "udp, receive buffer [0-9.]+ MiB$");
  assert(rows.length >= 50, `${rows.length} rows`);
  assertEquals(rows, await found(SCAN, "portable$"));
  assertEquals(rows, await found(FAST, "udp, 2 sender threads, rec", "--threads", "2"));
});

Deno.test("targets are checked even when --allow-net has no list of hosts", async () => {
  const permissions = FAST;
  const refused = await run(["scan", "8.8.8.8", "--engine", "udp"], { permissions });
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertStringIncludes(refused.stderr, "without --i-have-permission");
  const never = await run(["scan", "224.0.0.1", "--engine", "udp"], { permissions });
  assertEquals(never.code, 2);
  assertStringIncludes(never.stderr, "never probed: multicast");
});

Deno.test("an engine that is not granted is refused by name, and the dry run names it", async () => {
  const { code, stderr } = await run(["scan", "127.0.0.1", "--engine", "udp"]);
  assertEquals(code, 2);
  assertMatch(stderr, /Cannot use --engine udp: it needs (--allow-ffi|Linux)/);
  assertMatch((await run(["scan", "127.0.0.1", "--dry-run"])).stdout, /^engine +portable$/m);
  const portable = await run(["scan", "127.0.0.1", "--threads", "2"]);
  assertEquals(portable.code, 2);
  assertStringIncludes(portable.stderr, "Cannot use --threads 2: engine portable sends from the");
  const unknown = await run(["scan", "127.0.0.1", "--engine", "pcap"]);
  assertEquals(unknown.code, 2);
  assertStringIncludes(
    unknown.stderr,
    'Cannot use --engine "pcap": expected portable, udp, packet, xdp, fastest',
  );
});

Deno.test({
  name:
    "sender threads without a permission are refused by its name, and the dry run shows their number (Linux only)",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const args = ["scan", "127.0.0.1", "--threads", "2"];
    const one = await run([...args, "--source-port", "40001"], { permissions: FAST });
    assertEquals(one.code, 2);
    assertStringIncludes(
      one.stderr,
      "Cannot use --threads 2: each thread sends from a port of its",
    );
    const unread = FAST.filter((name) => !name.startsWith("--allow-read"));
    unread.push(`--allow-read=${ENVIRONMENT.XDG_CONFIG_HOME}`);
    const { code, stderr } = await run(args, { permissions: unread });
    assertEquals(code, 2);
    assertMatch(
      stderr,
      /Cannot use --threads 2: Cannot read .*send_worker\.ts": the permission is missing; add/,
    );
    const dry = await run([...args, "--dry-run"], { permissions: FAST });
    assertMatch(dry.stdout, /^engine +udp, 2 sender threads$/m);
    const many = await run(["scan", "127.0.0.1", "--threads", "65"], { permissions: FAST });
    assertStringIncludes(many.stderr, 'Cannot use --threads "65"');
  },
});

Deno.test("fastest starts threads on fast scans without caps, if cores are to spare", () => {
  const limits = { rate: undefined, netRate: undefined, hostRate: undefined };
  const of = (name: EngineName, cores: number, more: Partial<Limits> = {}, ports?: number[]) =>
    spareThreads({ engine: "fastest", sourcePort: ports }, { name }, { ...limits, ...more }, cores);
  assertEquals([1, 2, 3, 8].map((cores) => of("packet", cores)), [0, 1, 2, 3]);
  assertEquals([1, 2, 8].map((cores) => of("udp", cores)), [0, 1, 3]);
  assertEquals([1, 2, 8].map((cores) => of("xdp", cores)), [0, 1, 1]); // cards may have one queue
  assertEquals(of("portable", 8), 0);
  assertEquals([199_999, 200_000].map((rate) => of("udp", 8, { rate })), [0, 3]);
  assertEquals([of("udp", 8, { netRate: 50 }), of("udp", 8, { hostRate: 5 })], [0, 0]);
  assertEquals(of("udp", 8, {}, [4000, 4001]), 2); // a port for each thread
  assertEquals(spareThreads({ engine: "udp" }, { name: "udp" }, limits, 8), 0);
});

Deno.test({
  name: "the plan says that threads are used, and who computes the targets (Linux only)",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const plan = async (...args: string[]) => {
      const { stdout } = await run(["scan", "127.0.0.1", "--dry-run", ...args], {
        permissions: FAST,
      });
      return /^engine +(.*)$/m.exec(stdout)?.[1];
    };
    assertEquals(await plan("--threads", "2"), "udp, 2 sender threads");
    assertEquals(
      await plan("--threads", "1", "--host-rate", "5"),
      "udp, 1 sender thread, the main thread computes targets, because of the caps",
    );
    assertEquals(await plan(), "udp");
  },
});
