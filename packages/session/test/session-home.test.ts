import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { bonsaiHome } from "../src/store/new-file.ts";

test("where HOME is set to nothing, what Bonsai keeps is not in the working folder", () => {
  vi.stubEnv("HOME", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(bonsaiHome({})).toBe(join(userInfo().homedir, ".bonsai"));
});
