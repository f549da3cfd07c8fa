// `pnpm mutate packages/compaction/src/flow/attempts.ts` changes a source in small ways and lists the changes that no test
// of its package notices. It changes the file in place and restores it. `attempts.ts:20-40` names lines.
const name = /packages\/([^/]+)\//.exec(process.argv.at(-1) ?? "")?.[1];
process.env.MUTATION_TESTS ??= `packages/${name}/test/**/*.test.ts`;

export default {
  inPlace: true,
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "vitest.mutate.config.ts", related: false },
  coverageAnalysis: "perTest",
  ignoreStatic: true,
  // Golden files check texts and their templates.
  mutator: { excludedMutations: ["StringLiteral", "ObjectLiteral"] },
  concurrency: 1,
  // A loaded machine must not count as a test that fails.
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 20,
  disableTypeChecks: false,
  reporters: ["progress", "clear-text"],
  clearTextReporter: { reportTests: false },
  tempDirName: "node_modules/.cache/stryker",
};
