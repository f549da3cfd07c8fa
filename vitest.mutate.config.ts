import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** Tests of these files change the user or the home folder of the process, which a worker thread cannot. */
const PROCESS_TESTS = [
  "read-only-folder",
  "project-instructions",
  "skill-section",
  "path-guard",
  "session-home",
];

/** The tests of one package in one worker, for `pnpm mutate`. */
export default defineConfig((environment) => {
  const { test, ...rest } = base(environment);
  const { projects: _projects, ...options } = test!;
  return mergeConfig(
    { ...rest, test: options },
    {
      test: {
        include: process.env.MUTATION_TESTS?.split(","),
        exclude: PROCESS_TESTS.map((name) => `**/${name}.test.ts`),
        isolate: false,
      },
    },
  );
});
