/** Bodies as kubectl 1.33 sent them for `create job`, `create cronjob` and their like; 1.36 sends the same types. */
import { describe, expect, it } from 'vitest';
import { decodeProtobuf } from '../../../simulator/cluster/protobuf/protobuf.ts';

const JOB =
  'azhzAAoPCghiYXRjaC92MRIDSm9iEoQBChQKBG9uY2USABoAIgAqADIAOABCABJiMmAKEAoAEgAaACIAKgAyADgAQgASTBIpCgRvbmNlEgdidXN5Ym94GgRkYXRlKgBCAGoAcgCAAQCIAQCQAQCiAQAaBU5ldmVyMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAaCCAAKAAwADoAGgAiAA==';
const CRON_JOB =
  'azhzAAoTCghiYXRjaC92MRIHQ3JvbkpvYhKyAQoXCgduaWdodGx5EgAaACIAKgAyADgAQgASlAEKCTAgMSAqICogKhoAKoQBChcKB25pZ2h0bHkSABoAIgAqADIAOABCABJpMmcKEAoAEgAaACIAKgAyADgAQgASUxIsCgduaWdodGx5EgdidXN5Ym94GgRkYXRlKgBCAGoAcgCAAQCIAQCQAQCiAQAaCU9uRmFpbHVyZTIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGgAaACIA';
const SERVICE =
  'azhzAAoNCgJ2MRIHU2VydmljZRJpCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkIKGwoHODAtODA4MBIDVENQGFAiBwgAEJA/GgAoABIKCgNhcHASA3dlYhoAIglDbHVzdGVySVA6AEIAUgBaAGAAaAAaAgoAGgAiAA==';
const EXTERNAL =
  'azhzAAoNCgJ2MRIHU2VydmljZRJYCh8KA2ZhchIAGgAiACoAMgA4AEIAWgoKA2FwcBIDZmFyEjESCgoDYXBwEgNmYXIaACIMRXh0ZXJuYWxOYW1lOgBCAFIJYS5leGFtcGxlWgBgAGgAGgIKABoAIgA=';
const QUOTA = 'azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRI0ChUKBXNtYWxsEgAaACIAKgAyADgAQgASGQoKCgNjcHUSAwoBMQoLCgRwb2RzEgMKATMaABoAIgA=';
const AUTOSCALER =
  'azhzAAopCg5hdXRvc2NhbGluZy92MhIXSG9yaXpvbnRhbFBvZEF1dG9zY2FsZXISXQoSCgJkMhIAGgAiACoAMgA4AEIAEkEKGQoKRGVwbG95bWVudBICZDIaB2FwcHMvdjEYAyIiCghSZXNvdXJjZSIWCgNjcHUSDwoLVXRpbGl6YXRpb24gMhoEGAAgABoAIgA=';

const TEMPLATE = {
  template: { spec: { containers: [{ image: 'busybox', command: ['date'] }], restartPolicy: expect.any(String) as unknown } },
};

describe('protobuf of the kinds that people create', () => {
  it.each([
    { what: 'a job', body: JOB, read: { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'once' }, spec: TEMPLATE } },
    {
      what: 'a cron job',
      body: CRON_JOB,
      read: { kind: 'CronJob', metadata: { name: 'nightly' }, spec: { schedule: '0 1 * * *', jobTemplate: { spec: TEMPLATE } } },
    },
    {
      what: 'a service',
      body: SERVICE,
      read: {
        kind: 'Service',
        spec: { ports: [{ name: '80-8080', protocol: 'TCP', port: 80, targetPort: 8080 }], selector: { app: 'web' }, type: 'ClusterIP' },
      },
    },
    { what: 'a service of another name', body: EXTERNAL, read: { spec: { type: 'ExternalName', externalName: 'a.example' } } },
    { what: 'a quota', body: QUOTA, read: { kind: 'ResourceQuota', spec: { hard: { cpu: '1', pods: '3' } } } },
    {
      what: 'an autoscaler of pods',
      body: AUTOSCALER,
      read: {
        apiVersion: 'autoscaling/v2',
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd2' },
          maxReplicas: 3,
          metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
        },
      },
    },
  ])('reads $what', ({ body, read }) => {
    expect(decodeProtobuf(Buffer.from(body, 'base64'))).toMatchObject(read);
  });
});
