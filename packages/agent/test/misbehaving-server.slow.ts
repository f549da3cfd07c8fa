import { type WireName, wires } from "@bonsai-agent/testkit";
import { test } from "vitest";
import { expectEndings, faultNames } from "./fault-endings.ts";

test.each(Object.keys(wires) as WireName[])(
  "over %s each fault ends as expected, and the next prompt is answered",
  (wire) => expectEndings(wire, faultNames),
);
