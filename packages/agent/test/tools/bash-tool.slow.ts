import { test } from "vitest";
import { OutputRecord } from "../../src/tools/command-output.ts";
import { expectSaved } from "./saved-output.ts";

test("a long output has 100 MB of it saved, and the result says that the rest is missing", async () => {
  await expectSaved({ megabytes: 100, output: new OutputRecord() });
});
