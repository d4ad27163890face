/** The summary of all tests: tests/summary.ts. */
import { assertEquals } from "@std/assert";
import { readJunit, summaryOf } from "./summary.ts";

const XML = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="6" failures="1" errors="0" time="9.004">
    <testsuite name="./tests/a_test.ts" tests="5" disabled="2" errors="0" failures="1">
        <testcase name="a &lt; b &amp;lt; c" classname="./tests/a_test.ts" time="0.500" line="1" col="6">
        </testcase>
        <testcase name="on PostgreSQL (deno task postgres)" classname="./tests/a_test.ts" time="0.000">
            <skipped/>
        </testcase>
        <testcase name="without a reason" classname="./tests/a_test.ts" time="0.000">
            <skipped/>
        </testcase>
        <testcase name="filtered out" classname="./tests/a_test.ts" line="2" col="6">
        </testcase>
        <testcase name="bad" classname="./tests/a_test.ts" time="1.250" line="2" col="6">
            <failure message="Uncaught Error: no">&lt;skipped/&gt;</failure>
        </testcase>
        <testcase name="bad &gt; its step" classname="./tests/a_test.ts" time="1.200" line="3" col="6">
        </testcase>
    </testsuite>
    <testsuite name="./tests/b_test.ts" tests="1" disabled="0" errors="0" failures="0">
        <testcase name="1 &gt; 0" classname="./tests/b_test.ts" time="2.000" line="1" col="6">
        </testcase>
    </testsuite>
</testsuites>`;

Deno.test("the summary counts tests without their steps, and names failures and reasons", () => {
  const groups = new Map([["pure", readJunit(XML)], ["rest", undefined]]);
  assertEquals(summaryOf(groups), [
    "Tests in all: 2 passed, 1 failed, 2 ignored",
    "The group rest wrote no results.",
    "Failed: tests/a_test.ts => bad",
    "The slowest files, which run at the same time as others:",
    "     2.0 s  tests/b_test.ts\n            of which 2.0 s: 1 > 0",
    "     1.8 s  tests/a_test.ts\n            of which 1.3 s: bad",
    "Ignored here; what runs them, or what they lack:",
    "       1    deno task postgres",
    "       1    no reason in the name: without a reason",
  ]);
});

Deno.test("entities in a JUnit file are decoded once", () => {
  assertEquals(readJunit(XML)[0].name, "a < b &lt; c");
});
