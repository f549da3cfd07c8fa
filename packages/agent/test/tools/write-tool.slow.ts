import { truncateSync } from "node:fs";
import { expect, test } from "vitest";
import { toolFolder } from "./tool-folder.ts";

test("replaces a file that is larger than any buffer", async () => {
  using folder = toolFolder();
  const file = folder.write("log", "one\ntwo");
  truncateSync(file, 2 ** 31 + 1);
  const result = await folder.run("write", { path: "log", content: "new\n" });
  expect(folder.text("log")).toBe("new\n");
  expect(result.details).toMatchObject({ created: false, added: 1, removed: 2 });
});
