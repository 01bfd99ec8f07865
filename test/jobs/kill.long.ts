// A thousand kills, or as many as `npm run test:long -- --count N` says.
process.env.HONE_COUNT ??= '1000';
await import('./kill.test.ts');
