import { type WireName, wires } from "@bonsai-agent/testkit";
import { test } from "vitest";
import { expectEndings, ownFaults } from "./fault-endings.ts";

test.each(Object.keys(wires) as WireName[])(
  "over %s faults of this protocol end as expected, and the next prompt is answered",
  (wire) => expectEndings(wire, ownFaults),
);
