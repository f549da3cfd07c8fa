import { defineConfig, mergeConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** The tests of one package in one worker, for `pnpm mutate`. */
export default defineConfig((environment) => {
  const { test, ...rest } = base(environment);
  const { projects: _projects, ...options } = test!;
  return mergeConfig(
    { ...rest, test: options },
    { test: { include: process.env.MUTATION_TESTS?.split(","), isolate: false } },
  );
});
