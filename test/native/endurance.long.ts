// A million samples, or as many as HONE_SAMPLES says.
process.env.HONE_SAMPLES ??= '1000000';
await import('./endurance.test.ts');
