import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { extensionPackage, installer, npmRegistry, type PackageFixture } from "./npm-registry.ts";

describe("a package of npm", () => {
  test("resolves its dependencies and bundled packages in the requested versions", async () => {
    const library = (name: string, version: string, dependencies = {}): PackageFixture => ({
      name,
      version,
      files: { "index.js": `module.exports = "${name} ${version}";` },
      manifest: { dependencies },
    });
    const plugin = { "index.js": 'module.exports = require.resolve("bonsai-notes");' };
    const { env } = await npmRegistry([
      library("seed", "1.0.0"),
      library("seed", "2.0.0"),
      library("@acme/tree", "1.0.0", { seed: "^2.0.0" }),
      { name: "plugin", version: "1.0.0", files: plugin },
      extensionPackage("1.0.0", {
        files: {
          "index.js": "",
          "say.js": "#!/usr/bin/env node\nconsole.log(require('inner'));\n",
          "node_modules/inner/package.json": '{"name": "inner", "version": "1.0.0"}',
          "node_modules/inner/index.js": 'module.exports = "bundled";',
        },
        manifest: {
          main: "index.js",
          bin: { "notes-say": "say.js" },
          dependencies: { seed: "^1.0.0", "@acme/tree": "1.0.0", plugin: "1.0.0", inner: "1.0.0" },
          bundleDependencies: ["inner"],
        },
      }),
    ]);
    const { install } = installer(env);
    const { package: installed, entries } = await install("npm:bonsai-notes");
    const own = createRequire(entries[0]!);
    expect([own("seed"), own("@acme/tree"), own("inner")]).toEqual([
      "seed 1.0.0",
      "@acme/tree 1.0.0",
      "bundled",
    ]);
    expect(createRequire(own.resolve("@acme/tree"))("seed")).toBe("seed 2.0.0");
    expect(own("plugin")).toBe(join(installed.folder, "index.js"));
    const program = join(installed.folder, "..", "node_modules", ".bin", "notes-say");
    expect(execFileSync(program, { encoding: "utf8" })).toBe("bundled\n");
  });

  test("can be installed by a version range", async () => {
    const { env } = await npmRegistry(
      ["1.0.0", "1.2.0", "2.0.0"].map((version) => extensionPackage(version)),
    );
    const { install } = installer(env);
    const { package: installed } = await install("npm:bonsai-notes@>=1 <2 || 9");
    expect(installed).toMatchObject({ version: "1.2.0", source: "npm:bonsai-notes@>=1 <2 || 9" });
  });
});
