import { test } from "vitest";
import { OutputRecord } from "../../src/tools/command-output.ts";
import { expectSaved } from "./saved-output.ts";

test("saves the first 100 MB of a long output, and the result reports the missing rest", async () => {
  await expectSaved({ megabytes: 100, output: new OutputRecord() });
});
