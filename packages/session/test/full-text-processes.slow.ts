import { expect, test } from "vitest";
import { appendingProcess, childSession } from "./child-session.ts";
import { RecordedHome, snippets } from "./recorded-home.ts";

const texts = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => `needle ${from + at} ${(from + at).toString(36).repeat(300)}`);

test("three processes that start at once build one index, and index everything once", async () => {
  const home = new RecordedHome();
  for (const name of ["one", "two", "three"]) home.write(name, ...texts(100));
  const seen = await Promise.all(
    Array.from({ length: 3 }, () => childSession(["search", home.path, "needle"])),
  );
  expect(seen).toEqual(Array(3).fill({ state: "complete", hits: 300, notices: [] }));
  expect(home.indexFiles().filter((file) => file.endsWith(".db"))).toHaveLength(1);
  const search = home.search();
  expect(await search.catchUp()).toBe("complete");
  expect(await snippets(search, "needle")).toHaveLength(300);
  search.close();
  expect(home.indexFiles()).toHaveLength(1);
});

test("other processes continue the index of a killed one", async () => {
  const home = new RecordedHome();
  for (const name of ["one", "two"]) home.write(name, ...texts(500));
  const [killed, staying] = [appendingProcess(["index", home.path]), appendingProcess(["index", home.path])];
  await killed.reached(1);
  for (let at = 0; at < 20; at += 1) home.append("one", ...texts(20, 500 + 20 * at));
  await killed.kill();
  await staying.reached(staying.acknowledged.length + 2);
  await staying.kill();
  expect(new Set([...killed.acknowledged, ...staying.acknowledged])).toEqual(new Set(["complete"]));
  const search = home.search();
  expect(await snippets(search, "needle")).toHaveLength(1400);
  expect(await search.catchUp()).toBe("complete");
  expect(await snippets(search, "needle")).toHaveLength(1400);
  expect(home.notices).toEqual([]);
});
