; ModuleID = 'LLVMDialectModule'
source_filename = "LLVMDialectModule"
target datalayout = "e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite)
define amdgpu_kernel void @vector_add(ptr addrspace(1) inreg readonly nocapture %0, ptr addrspace(1) inreg readonly nocapture %1, ptr addrspace(1) inreg writeonly nocapture %2, i32 inreg %3, ptr addrspace(1) inreg readnone nocapture %4, ptr addrspace(1) inreg readnone nocapture %5) local_unnamed_addr #0 !dbg !4 {
  %7 = tail call i32 @llvm.amdgcn.workgroup.id.x(), !dbg !7
  %8 = shl i32 %7, 8, !dbg !8
  %9 = tail call i32 @llvm.amdgcn.workitem.id.x(), !dbg !9
  %10 = and i32 %9, 255, !dbg !9
  %11 = or disjoint i32 %8, %10, !dbg !10
  %12 = icmp slt i32 %11, %3, !dbg !11
  br i1 %12, label %13, label %.critedge, !dbg !12

13:                                               ; preds = %6
  %14 = sext i32 %11 to i64, !dbg !13
  %15 = getelementptr float, ptr addrspace(1) %2, i64 %14, !dbg !13
  %16 = getelementptr float, ptr addrspace(1) %0, i64 %14, !dbg !14
  %17 = load <1 x float>, ptr addrspace(1) %16, align 4, !dbg !12
  %18 = getelementptr float, ptr addrspace(1) %1, i64 %14, !dbg !15
  %19 = load <1 x float>, ptr addrspace(1) %18, align 4, !dbg !16
  %20 = extractelement <1 x float> %17, i64 0, !dbg !17
  %21 = extractelement <1 x float> %19, i64 0, !dbg !17
  %22 = fadd float %20, %21, !dbg !17
  %23 = insertelement <1 x float> poison, float %22, i64 0, !dbg !18
  store <1 x float> %23, ptr addrspace(1) %15, align 4, !dbg !18
  br label %.critedge, !dbg !18

.critedge:                                        ; preds = %6, %13
  ret void, !dbg !19
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef i32 @llvm.amdgcn.workgroup.id.x() #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.amdgcn.workitem.id.x() #1

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(argmem: readwrite) "amdgpu-agpr-alloc"="0" "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-cluster-id-x" "amdgpu-no-cluster-id-y" "amdgpu-no-cluster-id-z" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-x" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-x" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "amdgpu-waves-per-eu"="0, 0" "denormal-fp-math-f32"="ieee" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "triton", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "triton_kernels.py", directory: "/kernels")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"amdhsa_code_object_version", i32 400}
!4 = distinct !DISubprogram(name: "vector_add", linkageName: "vector_add", scope: !1, file: !1, line: 8, type: !5, scopeLine: 8, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!5 = !DISubroutineType(cc: DW_CC_normal, types: !6)
!6 = !{}
!7 = !DILocation(line: 9, column: 24, scope: !4)
!8 = !DILocation(line: 10, column: 17, scope: !4)
!9 = !DILocation(line: 10, column: 38, scope: !4)
!10 = !DILocation(line: 10, column: 25, scope: !4)
!11 = !DILocation(line: 11, column: 15, scope: !4)
!12 = !DILocation(line: 12, column: 33, scope: !4)
!13 = !DILocation(line: 12, column: 19, scope: !4)
!14 = !DILocation(line: 12, column: 37, scope: !4)
!15 = !DILocation(line: 12, column: 65, scope: !4)
!16 = !DILocation(line: 12, column: 61, scope: !4)
!17 = !DILocation(line: 12, column: 53, scope: !4)
!18 = !DILocation(line: 12, column: 25, scope: !4)
!19 = !DILocation(line: 12, column: 4, scope: !4)
