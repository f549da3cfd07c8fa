import { type WireName, wires } from "@bonsai-agent/testkit";
import { test } from "vitest";
import { expectEndings, faultNames, largeFaults } from "./fault-endings.ts";

const [first, ...others] = Object.keys(wires) as [WireName, ...WireName[]];

test.each([first, ...others])(
  "over %s each fault ends as expected, and the next prompt is answered",
  { timeout: 180_000 },
  (wire) =>
    expectEndings(wire, wire === first ? faultNames : faultNames.filter((fault) => !largeFaults.has(fault))),
);
