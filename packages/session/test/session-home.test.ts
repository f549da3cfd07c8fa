import { userInfo } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { bonsaiHome } from "../src/store/new-file.ts";

test("an empty HOME does not make the working folder Bonsai's home", () => {
  vi.stubEnv("HOME", "");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(bonsaiHome({})).toBe(join(userInfo().homedir, ".bonsai"));
});
