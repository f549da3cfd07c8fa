import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import SlowestFirst from "./scripts/slowest-first.ts";

const include = [
  "packages/*/test/**/*.test.ts",
  "extensions/*/test/**/*.test.ts",
  "examples/test/*.test.ts",
  "scripts/**/*.test.ts",
];
/** Tests with 100 MB, a million items, killed processes or whole journeys. Quicker tests of the check have their core. */
const slow = ["packages/*/test/**/*.slow.ts", "extensions/*/test/**/*.slow.ts", "scripts/test/*.slow.ts"];
/** It measures memory. */
const alone = ["packages/agent/test/tools/bash-tool.test.ts"];
/** They leave a made-up context of an extension in their process. */
const slowAlone = ["packages/pi-adapter/test/*.slow.ts"];
/** An extension of pi gets the latest host of its process, which may not be one of other tests. */
const pi = ["packages/pi-adapter/test/**/*.test.ts"];

/** Tests that open a browser, which is unpacked once. */
const browser = ["packages/page/test/browser/*.test.ts"];
const slowBrowser = ["packages/page/test/browser/*.slow.ts"];

// The conditions of Node: with "module", some packages give builds that only a bundler can read.
const conditions = ["@bonsai-agent/source", "node", "default"];

export default defineConfig(({ mode }) => ({
  ssr: { resolve: { conditions, externalConditions: ["@bonsai-agent/source"] } },
  test: {
    // Screens show times in the reader's time zone.
    env: { TZ: "UTC", LAW_RUNS: mode === "laws" ? "200" : "" },
    // Files share a worker's modules: to load them for each file would take longer than the tests.
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: mode === "slow" ? slow : include,
          exclude: [...alone, ...slowAlone, ...pi, ...browser, ...slowBrowser],
          isolate: false,
        },
      },
      { extends: true, test: { name: "alone", include: mode === "slow" ? slowAlone : alone } },
      {
        extends: true,
        test: { name: "pi", include: mode === "slow" ? [] : pi, isolate: false },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: mode === "slow" ? slowBrowser : browser,
          isolate: false,
          globalSetup: ["packages/page/test/browser/setup.ts"],
        },
      },
    ],
    // Many tests wait for processes of their own.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: SlowestFirst },
    globalSetup: ["scripts/test-folder.ts"],
    setupFiles: ["scripts/law-runs.ts", "scripts/left-timers.ts"],
    // Node itself imports the sources, as it does outside of tests. Vite would turn each use of an import into a look-up,
    // at which loops over the characters of a session take several times as long.
    server: { deps: { external: [/\/packages\/[^/]+\/src\//] } },
    execArgv: ["--conditions=@bonsai-agent/source", "--disable-warning=ExperimentalWarning"],
    // Browsers and processes are slow beside other tests.
    expect: { poll: { timeout: 15_000 } },
    // Tests of crashes and big files start processes, and tests of pages a browser: a busy machine needs far longer for them.
    testTimeout: mode === "laws" || mode === "slow" ? 900_000 : 180_000,
    hookTimeout: 180_000,
  },
}));
