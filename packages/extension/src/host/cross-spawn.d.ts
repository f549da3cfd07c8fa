/** What is used of a library without types; starting by itself it would say later, and differently, what failed. */
declare module "cross-spawn" {
  const crossSpawn: {
    _parse(
      command: string,
      args: string[],
      options: { cwd: string; env: Record<string, string | undefined> },
    ): { command: string; args: string[]; options: { windowsVerbatimArguments?: boolean } };
  };
  export default crossSpawn;
}
