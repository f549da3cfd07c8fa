import { type WireName, wires } from "@bonsai-agent/testkit";
import { test } from "vitest";
import { expectEndings, faultNames, ownFaults } from "./fault-endings.ts";

const [first, ...others] = Object.keys(wires) as [WireName, ...WireName[]];

test(`over ${first} each fault ends as expected, and the next prompt is answered`, { timeout: 180_000 }, () =>
  expectEndings(first, faultNames),
);

test.each(others)(
  "over %s faults of this protocol end as expected, and the next prompt is answered",
  (wire) => expectEndings(wire, ownFaults),
);
