import type { LoopbackReply } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { installedPackages } from "../../src/call/installed-packages.ts";
import { installPackage } from "../../src/packages/install.ts";
import { extensionPackage, npmRegistry, testFolder } from "./npm-registry.ts";

// Runs the real npm with a local registry. Other tests replay its answers without npm.

const replies: [LoopbackReply, string][] = [
  [{ status: 401, chunks: ["{}"] }, "package_install_failed"],
  [{ status: 500, chunks: ["{}"] }, "package_install_failed"],
  [{ chunks: ["<html>"] }, "package_install_failed"],
  [{ end: "refuse" }, "package_install_failed"],
];
test.each(replies)("a registry's answer %j fails with %s", async (reply, code) => {
  const home = testFolder();
  const { env } = await npmRegistry([], () => reply);
  const installing = installPackage({ home, source: "npm:bonsai-notes", cwd: home, env });
  await expect(installing).rejects.toMatchObject({ code });
});

test("an unknown version fails with package_unknown", async () => {
  const home = testFolder();
  const { env } = await npmRegistry([extensionPackage("1.0.0")]);
  await expect(installPackage({ home, source: "npm:bonsai-notes@9", cwd: home, env })).rejects.toMatchObject({
    code: "package_unknown",
    message: expect.stringContaining("npm:bonsai-notes@9"),
  });
});

test("a package can be installed by a version, a range or a tag", async () => {
  const home = testFolder();
  const { env } = await npmRegistry(["1.0.0", "1.2.0", "2.0.0"].map((version) => extensionPackage(version)));
  const wanted = { "@1.0.0": "1.0.0", "@>=1 <2 || 9": "1.2.0", "@first": "1.0.0" };
  for (const [asked, version] of Object.entries(wanted)) {
    const source = `npm:bonsai-notes${asked}`;
    const { package: installed } = await installPackage({ home, source, cwd: home, env });
    expect(installed).toMatchObject({ version, source });
  }
  expect(installedPackages(home).packages).toHaveLength(1);
});
