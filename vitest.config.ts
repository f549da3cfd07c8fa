import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const conditions = ["@bonsai-agent/source", "node", "import", "module", "default"];

export default defineConfig({
  ssr: { resolve: { conditions, externalConditions: ["@bonsai-agent/source"] } },
  test: {
    include: [
      "packages/*/test/**/*.test.ts",
      "extensions/*/test/**/*.test.ts",
      "examples/test/*.test.ts",
      "scripts/**/*.test.ts",
    ],
    // Vitest leaves one core free; many tests wait for processes of their own, so that one more than all is right.
    maxWorkers: availableParallelism() + 1,
    globalSetup: ["scripts/test-folder.ts"],
    // Node itself imports extensions, as it does outside of tests.
    server: { deps: { external: [/packages\/extension\/src\/load\/native-import\.ts$/] } },
    // Crash and big-file tests start processes of their own; on two cores they need room.
    testTimeout: 60_000,
  },
});
