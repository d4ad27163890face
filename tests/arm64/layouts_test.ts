/**
 * Compares the constants and the layouts of structures in the engines of Linux with those of the C headers
 * of this machine and of arm64. The C program for arm64 runs in an emulator.
 */
import { assert, assertEquals } from "@std/assert";
import * as libc from "../../src/net/linux/ffi/libc.ts";
import { ASSUMED, NUMBERED } from "./layouts.ts";

const SRC = new URL("../../src/net/linux/", import.meta.url);

/** The values of a source's constants that are whole numbers. */
async function constantsOf(file: string): Promise<Map<string, bigint>> {
  const source = await Deno.readTextFile(new URL(file, SRC));
  const found = source.matchAll(/^(?:export )?const ([A-Z_0-9]+) = (0x[\da-f_]+|[\d_]+)n?;/gm);
  return new Map([...found].map(([, name, value]) => [name, BigInt(value.replaceAll("_", ""))]));
}

/** What the sources assume: C expressions with their values. */
async function assumptions(): Promise<Map<string, bigint>> {
  const all = new Map<string, bigint>(NUMBERED.map(([text, value]) => [text, BigInt(value)]));
  for (const [file, expressions] of Object.entries(ASSUMED)) {
    const constants = await constantsOf(file);
    for (const [name, expression] of Object.entries(expressions)) {
      const value = constants.get(name);
      assert(value !== undefined, `${file} has no constant ${name}`);
      all.set(expression, value);
    }
  }
  for (const [name, value] of Object.entries(libc)) {
    if (typeof value === "number") all.set(C_NAMES[name] ?? name, BigInt(value));
  }
  for (let errno = 1; errno < 200; errno++) {
    const name = libc.errorName(errno);
    if (!name.startsWith("errno")) all.set(name, BigInt(errno));
  }
  return all;
}

/** Constants of libc.ts that have another name in C. */
const C_NAMES: Readonly<Record<string, string>> = { PMTUDISC_DO: "IP_PMTUDISC_DO" };

const HEADERS = [
  ...[
    "errno.h",
    "fcntl.h",
    "poll.h",
    "stddef.h",
    "stdio.h",
    "sys/epoll.h",
    "sys/eventfd.h",
    "sys/mman.h",
    "sys/socket.h",
  ],
  ...[
    "netinet/in.h",
    "netpacket/packet.h",
    "linux/fib_rules.h",
    "linux/if_link.h",
    "linux/if_xdp.h",
  ],
  ...["linux/neighbour.h", "linux/rtnetlink.h", "linux/sock_diag.h", "net/if.h", "net/if_arp.h"],
  ...["net/ethernet.h", "netinet/if_ether.h", "netinet/tcp.h", "netinet/udp.h", "netinet/ip.h"],
];

/** A C program that prints the value of each expression on a line of its own. */
function program(expressions: readonly string[]): string {
  return [
    "#define _GNU_SOURCE",
    ...HEADERS.map((header) => `#include <${header}>`),
    "#ifndef XDP_MAX_TX_SKB_BUDGET", // the headers of Linux before 6.17 lack it
    "#define XDP_MAX_TX_SKB_BUDGET 9",
    "#endif",
    "#ifdef __x86_64__",
    "#define IS_ALIGNED 0",
    "#else",
    "#define IS_ALIGNED 1",
    "#endif",
    "int main(void) {",
    ...expressions.map((text) => `  printf("%lld\\n", (long long)(${text}));`),
    "  return 0;",
    "}",
    "",
  ].join("\n");
}

async function shell(command: string): Promise<{ readonly code: number; readonly text: string }> {
  const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-c", command] }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Compiles and runs a C program, and returns the numbers that it prints. */
async function run(source: string, compiler: string, emulator: string): Promise<bigint[]> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-layouts-" });
  try {
    await Deno.writeTextFile(`${folder}/a.c`, source);
    const compile = `${compiler} -static -o '${folder}/a' '${folder}/a.c'`;
    const { code, text } = await shell(`${compile} && ${emulator} '${folder}/a'`);
    assertEquals(code, 0, text);
    return text.trimEnd().split("\n").map(BigInt);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (
  const [machine, compiler, emulator, packages] of [
    ["this machine", "gcc", "", "gcc"],
    [
      "arm64",
      "aarch64-linux-gnu-gcc",
      "qemu-aarch64-static",
      "gcc-aarch64-linux-gnu, qemu-user-static",
    ],
  ]
) {
  const isHere = Deno.build.os === "linux" &&
    (await shell(`command -v ${compiler} && command -v ${emulator || "true"}`)).code === 0;
  Deno.test({
    name: `constants and layouts of system calls are those of ${machine}` +
      (isHere ? "" : ` (needs Linux, ${packages})`),
    ignore: !isHere,
    async fn() {
      const assumed = await assumptions();
      const expressions = [...assumed.keys()];
      assert(expressions.length > 150, `${expressions.length}`);
      const actual = await run(program(expressions), compiler, emulator);
      const different = expressions.flatMap((text, i) =>
        actual[i] === assumed.get(text) ? [] : [`${text} is ${actual[i]}, not ${assumed.get(text)}`]
      );
      assertEquals(different, []);
    },
  });
}
