import { homedir, tmpdir } from "node:os";
import { expect, test } from "vitest";

test("a test that names no folder writes its sessions into the folder of the tests", () => {
  expect(homedir().startsWith(tmpdir())).toBe(true);
});
