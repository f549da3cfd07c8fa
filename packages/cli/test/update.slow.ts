import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ListReport } from "../src/packages/list.ts";
import type { UpdateReport } from "../src/packages/update.ts";
import { folderWith, stubNpm } from "./packages/npm-registry.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const module = "export default () => {};\n";

describe("bonsai update", () => {
  /** A home with what can be updated, what cannot, and a registry whose versions the test says. */
  async function installed() {
    const { cwd, env } = folderWith({ "lone.ts": module });
    const registry = join(cwd, "registry");
    const script = `for name in ahead behind fixed; do
      grep -q "\\"$name\\"" package.json || continue
      version=$(cat "${registry}/$name") || { echo '{"error": {"code": "E404", "summary": "gone"}}' | tr -d '\\n'; exit 1; }
      mkdir -p "node_modules/$name" && cd "node_modules/$name" && touch index.ts
      test "$version" = 1.3.0 && echo 'import { noSuchName } from "@earendil-works/pi-ai"; noSuchName();' > index.ts
      echo "{\\"name\\": \\"$name\\", \\"version\\": \\"$version\\", \\"bonsai\\": {\\"extensions\\": [\\"./index.ts\\"]}}" > package.json
    done`;
    mkdirSync(registry);
    const publish = (name: string, version: string) => writeFileSync(join(registry, name), version);
    for (const name of ["ahead", "behind", "fixed"]) publish(name, "1.0.0");
    const options = { cwd, env: { ...env, ...stubNpm(script) } };
    for (const source of ["npm:ahead", "npm:behind", "npm:fixed@1.0.0", "./lone.ts"])
      await jsonOf(["install", source], options);
    return { cwd, options, registry, publish };
  }

  const outcomes = ({ packages }: UpdateReport) =>
    packages.map(({ name, versionBefore, version, status }) => [
      basename(name),
      versionBefore,
      version,
      status,
    ]);

  test("installs newer versions, prints old and new ones, and says how to update the command", async () => {
    const { options, publish } = await installed();
    publish("behind", "1.2.0");
    publish("fixed", "2.0.0");
    const report = await jsonOf<UpdateReport>(["update"], options);
    expect(outcomes(report).toSorted()).toEqual([
      ["ahead", "1.0.0", "1.0.0", "current"],
      ["behind", "1.0.0", "1.2.0", "updated"],
      ["fixed", "1.0.0", "1.0.0", "pinned"],
      ["lone.ts", null, null, "local"],
    ]);
    expect(report.command.update).toContain("npm install -g");
    const { packages } = await jsonOf<ListReport>(["list"], options);
    expect(packages.find(({ name }) => name === "behind")?.version).toBe("1.2.0");
    const again = await runCli(["update", "behind"], options);
    expect(again.stdout).toMatch(/^behind +1\.2\.0 is the newest version\nUpdated 0 packages\./);
  });

  test("a record that is damaged is named, and the others are updated", async () => {
    const { options, publish } = await installed();
    publish("behind", "1.2.0");
    writeFileSync(join(options.env.BONSAI_HOME, "packages", "ahead.json"), "{");
    const { code, stdout } = await runCli(["update"], options);
    expect(code).toBe(1);
    expect(stdout).toMatch(/ahead\.json is damaged[\s\S]*Updated 1 package/);
  });

  test("a failed update keeps its package, says why, and the others are updated", async () => {
    const { options, publish, registry } = await installed();
    rmSync(join(registry, "ahead"));
    publish("behind", "1.2.0");
    const { code, stdout } = await runCli(["update", "--json"], options);
    expect(code).toBe(1);
    const report: UpdateReport = JSON.parse(stdout);
    expect(outcomes(report)).toContainEqual(["ahead", "1.0.0", "1.0.0", "failed"]);
    expect(outcomes(report)).toContainEqual(["behind", "1.0.0", "1.2.0", "updated"]);
    expect(report.packages.find(({ name }) => name === "ahead")?.error?.message).toContain("ahead");
    const { packages } = await jsonOf<ListReport>(["list"], options);
    expect(packages.find(({ name }) => name === "ahead")?.problems).toEqual([]);
  });

  test("refuses a name that is not installed before it updates anything", async () => {
    const { options, publish } = await installed();
    publish("behind", "1.2.0");
    const { code, stderr } = await runCli(["update", "nope", "--json"], options);
    expect([code, JSON.parse(stderr).error.code]).toEqual([1, "package_not_installed"]);
  });
});
