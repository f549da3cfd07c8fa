/**
 * Node's own `import()`. In a file by itself, so that a test runner that rewrites imports can be set to leave it alone.
 */
export function nativeImport(url: string): Promise<Record<string, unknown>> {
  return import(/* @vite-ignore */ url) as Promise<Record<string, unknown>>;
}
